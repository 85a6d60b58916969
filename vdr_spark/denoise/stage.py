"""The denoise stage: Petastorm reads the stored slices, a model chosen by name gives a prior, fusion does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.estimation.accuracy import Accuracy, estimate_accuracy
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.estimation.risk import Estimate
from vdr_spark.denoise.launcher import Launcher
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.denoise.priors.registry import PRIORS, Prior, Task
from vdr_spark.plan import ReleasePlan
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import Progress
from vdr_spark.storage.files import exists, write_json
from vdr_spark.storage.tensor_file import Tensor, write_tensor


def denoise(files: Sequence[str], release: ReleasePlan, progress: Progress, launcher: Launcher | None = None) -> bool:
    """Denoise the noisy tensor whose live Parquet files are given; False where that was done already.

    `launcher` starts training processes, where the settings ask for more than one.
    """
    folder = release.folder
    if exists(folder.denoised):
        return False
    tensor, notes = denoise_tensor(
        read_region(files, release),
        release.noise,
        release.grid.slices_per_day,
        release.config.denoise,
        folder.root,
        progress,
        launcher,
    )
    write_json(folder.denoising, notes)
    write_tensor(folder.denoised, tensor)
    return True


def denoise_tensor(
    noisy: Slices,
    noise: Noise,
    slices_per_day: float,
    settings: DenoiseSettings,
    folder: str,
    progress: Progress,
    launcher: Launcher | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Estimate the counts of the pings that were kept, from the noisy tensor (T, M, M) alone; and notes about it.

    `auto` tries all its candidates and keeps the one whose estimated error where people are is the least.
    """
    task = Task(noisy, noise, slices_per_day, settings, folder, progress, launcher)
    best: _Candidate | None = None
    errors: dict[str, float] = {}
    for model in settings.models:
        candidate = _try_model(model, task)
        errors[model] = candidate.accuracy.busy_error
        if best is None or errors[model] < errors[best.model]:
            best = candidate
    assert best is not None
    del task  # and what its models shared: the tensors of the result take their place
    notes = {"model": best.model, "fusion": best.fusion is not None, **best.prior.notes, **best.accuracy.as_notes()}
    if settings.model == "auto":
        notes["estimated_busy_errors"] = errors
    if best.model == "identity":
        return Tensor(noisy, np.full_like(noisy, noise.deviation)), notes
    if best.fusion is None:
        return Tensor(best.prior.mean), notes
    return best.fusion.apply(best.prior.mean, noisy, progress), notes


@dataclass(frozen=True)
class _Candidate:
    """A model that was tried, and how good it looks."""

    model: str
    prior: Prior
    fusion: Fusion | None
    accuracy: Accuracy


def _try_model(model: str, task: Task) -> _Candidate:
    noisy, noise = task.noisy, task.noise
    if model == "identity":
        return _Candidate(model, Prior(noisy, {}), None, Accuracy.of_noise(noise))
    prior = PRIORS[model](task)
    fusion = Fusion.fit(prior.mean, noisy, noise) if task.settings.fusion else None
    with task.progress.task(f"denoise: estimate the error of {model}", None):
        accuracy = estimate_accuracy(
            noisy, lambda slices: _estimator(prior, fusion, slices), noise, cell_by_cell=prior.reconstruct is None
        )
    return _Candidate(model, prior, fusion, accuracy)


def _estimator(prior: Prior, fusion: Fusion | None, slices: list[int]) -> Estimate:
    """Return what makes an estimate out of the noisy counts of some slices."""

    def estimate(noisy: Slices) -> Slices:
        means = prior.mean[slices] if prior.reconstruct is None else prior.reconstruct(noisy)
        if fusion is None:
            return means
        layers = zip(slices, means, noisy, strict=True)
        return np.stack([fusion.posterior(t, mean, counts)[0] for t, mean, counts in layers])

    return estimate
