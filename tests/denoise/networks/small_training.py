"""A training of seconds, and what tests ask of it."""

from pathlib import Path

import numpy as np
import torch

from vdr_spark.config.denoise import AutoencoderSettings, VaeSettings, VqvaeSettings
from vdr_spark.denoise.networks import training as module
from vdr_spark.denoise.networks.autoencoder import Autoencoder
from vdr_spark.denoise.networks.training import LogLine, Run, read_training_log

SMALL = VqvaeSettings(
    epochs=4, batch_size=4, codebook_size=16, channels=8, resolutions=2, checkpoint_every=2, crop_size=16
)

CONTINUOUS = VaeSettings(epochs=4, batch_size=4, channels=8, resolutions=2, checkpoint_every=2, crop_size=16)


def slices(seed: int = 0, side: int = 20) -> torch.Tensor:
    """Six noisy views of one bright road."""
    rng = np.random.default_rng(seed)
    city = np.zeros((side, side))
    city[side // 2] = 10
    return torch.tensor(city + rng.laplace(size=(6, side, side)), dtype=torch.float32)


def train(data: torch.Tensor, settings: AutoencoderSettings, folder: Path, *, measure=None, **run) -> Autoencoder:
    """By default every epoch is better than the one before, so that all of them are done."""
    better = iter(range(1000, 0, -1))
    fingerprint = str(float(data.sum()))
    return module.train(
        data, Run(settings, str(folder), **run), measure or (lambda _: float(next(better))), fingerprint
    )


def same_measure(model: Autoencoder) -> float:
    """One that depends on the model alone, as a resumed training needs it."""
    return model.eval()(slices()[:, None]).reconstruction.square().mean().item()


class Killed(Exception):
    pass


def killed_after(last: int):
    def progress(line: LogLine) -> None:
        if line["epoch"] == last:
            raise Killed

    return progress


def same(one: Autoencoder, other: Autoencoder) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(mine, yours) for mine, yours in pairs)


def lines(folder: Path) -> list[dict[str, float]]:
    """The log without its times, which differ from run to run."""
    log = read_training_log(str(folder))
    return [{key: line[key] for key in line if key not in ("seconds", "waiting_seconds")} for line in log]
