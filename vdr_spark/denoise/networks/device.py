"""Where and how precisely the model is trained: a GPU if there is one, or the device that was asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import torch
from torch import Tensor, nn

from vdr_spark.errors import EnvironmentProblem


def choose_device(name: str) -> torch.device:
    """Return the device of `auto | cpu | cuda | mps`. A GPU asked for by name where there is none is refused."""
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


def is_mixed(precision: str, device: torch.device) -> bool:
    """Return whether `auto | float32 | mixed` means mixed precision on a device; refused on a CPU.

    Mixed is bfloat16 where that is safe, and float32 elsewhere; its range is float32's, so that no loss has to be
    scaled, and a checkpoint holds all there is to know. On a CPU it would gain little and may kill the process:
    oneDNN picks its bfloat16 kernels by what the processor advertises, and some virtual machines advertise
    instructions (AMX) that they cannot run. That is a signal, not an exception, so it cannot be tried and caught.
    """
    if precision == "mixed" and device.type == "cpu":
        raise EnvironmentProblem(
            "denoise.precision is mixed, but the network is trained on a CPU, and mixed precision is for GPUs; set "
            "denoise.precision to auto or float32"
        )
    has_bfloat16 = device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
    return precision == "mixed" or (precision == "auto" and has_bfloat16)


def autocast(device: torch.device, mixed: bool) -> AbstractContextManager[object]:
    """Return a context in which layers compute in bfloat16, where `mixed`, and in float32 otherwise."""
    return torch.autocast(device.type, dtype=torch.bfloat16, enabled=mixed)


def place_model(model: nn.Module, device: torch.device) -> None:
    """Put a model on its device, with channels last on a GPU, whose convolutions are fastest so."""
    model.to(device).to(memory_format=_layout(device))


def place_images(images: Tensor, device: torch.device) -> Tensor:
    """Put images (B, 1, M, M) on the device, laid out as the model is."""
    return images.to(device, non_blocking=True).contiguous(memory_format=_layout(device))


def _layout(device: torch.device) -> torch.memory_format:
    return torch.channels_last if device.type == "cuda" else torch.contiguous_format


@contextmanager
def flush_denormals() -> Iterator[None]:
    """Let numbers too small for a full mantissa be zero, on CPUs: with them a step may take five times as long."""
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(False)


@contextmanager
def explain_compiler_errors(compiled: bool) -> Iterator[None]:
    """Turn a failure of torch's compiler, which works at the first step and fails in its own words, into a sentence."""
    try:
        yield
    except Exception as problem:
        if not compiled or not type(problem).__module__.startswith("torch._"):
            raise
        first_line = f"{type(problem).__name__}: {problem}".splitlines()[0]
        raise EnvironmentProblem(
            f"denoise.compile is true, but torch.compile does not work here ({first_line}); on a CPU it needs a C++ "
            "compiler. Set it to false to train without"
        ) from None
