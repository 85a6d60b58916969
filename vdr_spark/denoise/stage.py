"""The denoise stage: Petastorm reads the stored slices, a model chosen by name gives a prior, fusion does the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.fusion import fuse
from vdr_spark.denoise.risk import Noise
from vdr_spark.denoise.slices import read_region
from vdr_spark.denoise.temporal import temporal_prior
from vdr_spark.privacy.mechanism import noise_variance
from vdr_spark.progress import Progress, Silent
from vdr_spark.tensor_file import Tensor, write_tensor
from vdr_spark.workspace import Workspace, exists, write_json

if TYPE_CHECKING:
    from vdr_spark.denoise.training import Run

DENOISED = "denoised.parquet"

Slices = NDArray[np.float32]


@dataclass(frozen=True)
class Task:
    """What a model is given beside the noisy slices: settings, known noise, a folder of its own, a progress bar."""

    config: ReleaseConfig
    noise_variance: float
    folder: str
    progress: Progress


@dataclass(frozen=True)
class Prior:
    """A model's prediction of every cell's mean (T, M, M), and what there is to say about it."""

    mean: Slices
    notes: dict[str, Any]


def _temporal(noisy: Slices, task: Task) -> Prior:
    prior = temporal_prior(noisy, task.noise_variance, task.progress)
    return Prior(prior.mean, {"width_cells": prior.width, "blind_risk": prior.blind_risk})


def _autoencoder(noisy: Slices, task: Task) -> Prior:
    from vdr_spark.denoise.autoencoder import autoencoder_prior
    from vdr_spark.denoise.distributed import train_together

    settings, noise = task.config.denoise, Noise.of(task.config.privacy)
    assert settings.network is not None
    with task.progress.task(f"denoise: train {settings.model}", settings.network.epochs) as update:
        run = network_run(
            task.config,
            task.folder,
            lambda line: update(line["epoch"], f"loss {line['loss']:.3f}, error {line['error']:.3f} of the noise's"),
        )
        if settings.processes > 1:
            train_together(noisy, noise, run, settings)
        return Prior(*autoencoder_prior(noisy, noise, run))


def network_run(config: ReleaseConfig, folder: str, progress: Callable[[dict[str, float]], None] | None = None) -> Run:
    """How the configuration's network is trained, and where that is kept."""
    # PyTorch takes seconds to import: only where it is used.
    from vdr_spark.denoise.device import choose_device, is_mixed
    from vdr_spark.denoise.training import Run

    settings = config.denoise
    assert settings.network is not None
    device = choose_device(settings.device)
    mixed = is_mixed(settings.precision, device)
    return Run(settings.network, folder, device, mixed, settings.compile, progress or (lambda _: None))


MODELS: dict[str, Callable[[Slices, Task], Prior]] = {
    "temporal": _temporal,
    "vqvae": _autoencoder,
    "vae": _autoencoder,
}


def denoise(files: Sequence[str], config: ReleaseConfig, progress: Progress | None = None) -> bool:
    """Denoise the draw whose live Parquet files are given; False where that was done already."""
    workspace = Workspace.of(config)
    output = workspace.stage(DENOISED)
    if exists(output):
        return False
    noisy = read_region(files, config)
    tensor, notes = denoise_tensor(noisy, config, workspace.stage(config.denoise.model), progress or Silent())
    write_json(workspace.stage("denoised.json"), notes)
    write_tensor(output, tensor)
    return True


def denoise_tensor(
    noisy: Slices, config: ReleaseConfig, folder: str, progress: Progress
) -> tuple[Tensor, dict[str, Any]]:
    """Estimate the counts of the pings that were kept, from the noisy tensor (T, M, M) alone."""
    variance, settings = noise_variance(config.privacy), config.denoise
    notes: dict[str, Any] = {"model": settings.model, "fusion": settings.fused}
    if settings.model == "identity":
        deviation = np.full_like(noisy, variance**0.5)
        return Tensor(noisy, deviation), notes
    prior = MODELS[settings.model](noisy, Task(config, variance, folder, progress))
    notes |= prior.notes
    if not settings.fused:
        return Tensor(prior.mean), notes
    return fuse(prior.mean, noisy, float(config.privacy.scale), progress), notes
