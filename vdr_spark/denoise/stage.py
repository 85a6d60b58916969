"""The denoise stage: Petastorm reads the stored slices, a model chosen by name gives a prior, fusion does the rest."""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.accuracy import Accuracy, estimated_accuracy
from vdr_spark.denoise.fusion import Fusion
from vdr_spark.denoise.priors import PRIORS, Prior, Task
from vdr_spark.denoise.risk import Estimate
from vdr_spark.denoise.slices import read_region
from vdr_spark.progress import Progress, Silent
from vdr_spark.tensor_file import Tensor, write_tensor
from vdr_spark.workspace import Workspace, exists, write_json

DENOISED = "denoised.parquet"
NOTES = "denoised.json"

Slices = NDArray[np.float32]


def denoise(files: Sequence[str], config: ReleaseConfig, progress: Progress | None = None) -> bool:
    """Denoise the draw whose live Parquet files are given; False where that was done already."""
    workspace = Workspace.of(config)
    output = workspace.stage(DENOISED)
    if exists(output):
        return False
    noisy = read_region(files, config)
    tensor, notes = denoise_tensor(noisy, config, posixpath.dirname(output), progress or Silent())
    write_json(workspace.stage(NOTES), notes)
    write_tensor(output, tensor)
    return True


def denoise_tensor(
    noisy: Slices, config: ReleaseConfig, folder: str, progress: Progress
) -> tuple[Tensor, dict[str, Any]]:
    """Estimate the counts of the pings that were kept, from the noisy tensor (T, M, M) alone.

    `auto` tries all its candidates and keeps the one whose estimated error where people are is the least.
    """
    settings, task = config.denoise, Task(noisy, config, folder, progress)
    best, errors = None, {}
    for model in settings.tried:
        denoised = _denoised(model, task)
        errors[model] = denoised.accuracy.busy_error
        if best is None or denoised.accuracy.busy_error < best.accuracy.busy_error:
            best = denoised
    assert best is not None
    notes = {"model": settings.model, "fusion": settings.fused, **best.notes, **best.accuracy.as_notes()}
    if settings.model == "auto":
        notes |= {"chosen": best.model, "estimated_busy_errors": errors}
    return best.tensor, notes


@dataclass(frozen=True)
class _Denoised:
    model: str
    tensor: Tensor
    accuracy: Accuracy
    notes: dict[str, Any]


def _denoised(model: str, task: Task) -> _Denoised:
    noisy, noise = task.noisy, task.noise
    if model == "identity":
        return _Denoised(model, Tensor(noisy, np.full_like(noisy, noise.variance**0.5)), Accuracy.of_noise(noise), {})
    prior = PRIORS[model](task)
    fusion = Fusion.fitted(prior.mean, noisy, noise) if task.config.denoise.fusion else None
    with task.progress.task(f"denoise: estimate the error of {model}", None):
        accuracy = estimated_accuracy(
            noisy, lambda slices: _estimate(prior, fusion, slices), noise, cell_by_cell=prior.redraw is None
        )
    tensor = Tensor(prior.mean) if fusion is None else fusion.fused(prior.mean, noisy, task.progress)
    return _Denoised(model, tensor, accuracy, prior.notes)


def _estimate(prior: Prior, fusion: Fusion | None, slices: list[int]) -> Estimate:
    """What is made of the noisy counts of some slices."""

    def estimate(noisy: Slices) -> Slices:
        means = prior.mean[slices] if prior.redraw is None else prior.redraw(noisy)
        if fusion is None:
            return means
        layers = zip(slices, means, noisy, strict=True)
        return np.stack([fusion.posterior(t, mean, counts)[0] for t, mean, counts in layers])

    return estimate
