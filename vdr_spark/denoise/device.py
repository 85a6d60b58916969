"""Where the model is trained: a GPU if there is one, or the device that was asked for."""

from __future__ import annotations

import torch

from vdr_spark.errors import EnvironmentProblem


def choose_device(name: str) -> torch.device:
    """The device of `auto | cpu | cuda | mps`. A GPU asked for by name where there is none is refused."""
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        name = next(device for device, there in present.items() if there)
    if name not in present:
        raise EnvironmentProblem(f"denoise.device must be one of auto, cpu, cuda, mps, not {name!r}")
    if not present[name]:
        raise EnvironmentProblem(
            f"denoise.device is {name}, but PyTorch {torch.__version__} finds no such GPU on this machine; "
            "set denoise.device to auto or cpu, or check the driver"
        )
    return torch.device(name)
