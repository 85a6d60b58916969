"""The denoise stage: Petastorm reads the stored slices, a model chosen by name gives a prior, fusion does the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.estimation.accuracy import Accuracy, estimate_accuracy
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.estimation.reconcile import Denoised, Twins, reconcile, resting_on_prior
from vdr_spark.denoise.estimation.risk import Estimate
from vdr_spark.denoise.estimation.sum_risk import judge_sums
from vdr_spark.denoise.launcher import Launcher
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.denoise.priors.registry import PRIORS, Prior, Task
from vdr_spark.plan import ReleasePlan
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import Progress
from vdr_spark.storage.files import exists, write_json
from vdr_spark.storage.tensor_file import Tensor, write_tensor
from vdr_spark.sum_errors import SumErrors

_MORE_NOISE = 0.3  # of the noise's deviation, in the counts that are denoised a second time


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
    notes = {"model": best.model, "fusion": best.fusion is not None, **best.prior.notes, **best.accuracy.as_notes()}
    if settings.model == "auto":
        notes["estimated_busy_errors"] = errors
    if best.model == "identity":
        return Tensor(noisy, np.full_like(noisy, noise.deviation)), notes
    if best.fusion is None:
        return Tensor(best.prior.mean), notes
    task.forget()  # what its models shared: the tensors of the result take their place
    tensor, sum_errors = _fuse_and_reconcile(best.prior, best.fusion, task)
    return tensor, notes | {"sum_errors": sum_errors.as_notes()}


def _fuse_and_reconcile(prior: Prior, fusion: Fusion, task: Task) -> tuple[Tensor, SumErrors]:
    """Return the posterior with its sums reconciled, and how far sums are off: all of it is denoised a second time."""
    noisy, noise, progress = task.noisy, task.noise, task.progress
    fused = fusion.apply(prior.mean, noisy, progress)
    noisier = noisy + np.float32(_MORE_NOISE) * _gaussian_noise(noisy.shape, noise)
    prior_again = prior.again(noisier)
    fusion_again = Fusion.fit(prior_again, noisier, noise)
    again = fusion_again.apply(prior_again, noisier, progress)
    with progress.task("denoise: reconcile sums", None):
        twins = Twins(
            _as_denoised(noisy, fused, fusion, noise),
            _as_denoised(noisier, again, fusion_again, noise),
        )
        del again, prior_again
        twins = reconcile(twins, noise)
        counts = twins.first.counts
        # What was put right was wrong with the prior: refinement, which pulls towards it, must not undo that.
        assert fused.prior is not None
        expected = np.maximum(fused.prior + (counts - fused.counts), 0)
        return replace(fused, counts=counts, prior=expected), judge_sums(twins, noise)


def _gaussian_noise(shape: tuple[int, ...], noise: Noise) -> Slices:
    """Return noise of the mechanism's variance; for judging, not for protection, so a seed may make it. (T, M, M)"""
    return np.random.default_rng(0).standard_normal(shape, np.float32) * np.float32(noise.deviation)


def _as_denoised(noisy: Slices, fused: Tensor, fusion: Fusion, noise: Noise) -> Denoised:
    assert fused.prior is not None
    assert fused.deviation is not None
    populated = np.stack([fusion.populated(t) for t in range(len(noisy))])
    return Denoised(noisy, fused.counts, resting_on_prior(fused.prior, fused.deviation, noise), populated)


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
        return _Candidate(model, Prior(noisy, {}, lambda counts: counts), None, Accuracy.of_noise(noise))
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
