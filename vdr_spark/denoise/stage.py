"""The denoise stage: Petastorm reads the stored slices, a model chosen by name gives a prior, fusion does the rest."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.estimation.accuracy import Accuracy, estimate_accuracy
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.estimation.own_noise import OwnNoise
from vdr_spark.denoise.estimation.perturbation import Perturbed, perturb
from vdr_spark.denoise.estimation.posteriors import Posteriors
from vdr_spark.denoise.estimation.reconcile import Denoised, Twins, reconcile, resting_on_prior
from vdr_spark.denoise.estimation.risk import Estimate
from vdr_spark.denoise.estimation.sum_risk import SumRisks, judge_sums
from vdr_spark.denoise.launcher import Launcher
from vdr_spark.denoise.past.belief import believe
from vdr_spark.denoise.past.choice import pays
from vdr_spark.denoise.past.evidence import PastEvidence
from vdr_spark.denoise.past.together import OfLastSlices, PosteriorsTogether
from vdr_spark.denoise.past.window import PastWindow, gather_past
from vdr_spark.denoise.petastorm_compat import load_petastorm
from vdr_spark.denoise.petastorm_reader import read_region
from vdr_spark.denoise.priors.kept import KeptModels
from vdr_spark.denoise.priors.registry import PRIORS, WITH_PAST, Prior, Task
from vdr_spark.plan import ReleasePlan
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import Progress
from vdr_spark.storage.files import exists, write_json
from vdr_spark.storage.tensor_file import Tensor, write_tensor
from vdr_spark.sum_errors import SumErrors

# The errors of sums are known by few blocks, that the prior is better for the past by all cells: they must say by more
# than this that it is worse.
_TRUST_IN_PAST = 0.95


def require_packages(settings: DenoiseSettings) -> None:
    """Import what the stage needs beside the wheel's own packages: Petastorm and, for networks, PyTorch."""
    load_petastorm()
    if settings.network_settings:
        importlib.import_module("torch")


def denoise(
    files: Sequence[str],
    release: ReleasePlan,
    progress: Progress,
    launcher: Launcher | None = None,
    past: Sequence[PastWindow] = (),
    kept: KeptModels | None = None,
) -> bool:
    """Denoise the noisy tensor whose live Parquet files are given; False where that was done already.

    `launcher` starts training processes, where the settings ask for more than one. `past` are earlier windows of the
    same region, whose noisy tensors are stored: further evidence, which costs no privacy; `kept` are networks that were
    trained on them.
    """
    folder = release.folder
    if exists(folder.denoised):
        return False
    noisy = read_region(files, release)
    tensor, notes = denoise_tensor(
        noisy,
        release.noise,
        release.grid.slices_per_day,
        release.config.denoise,
        folder.root,
        progress,
        launcher,
        gather_past(past, noisy, release, progress),
        kept,
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
    past: PastEvidence | None = None,
    kept: KeptModels | None = None,
) -> tuple[Tensor, dict[str, Any]]:
    """Estimate the counts of the pings that were kept, from the noisy tensor (T, M, M) alone; and notes about it.

    `auto` tries all its candidates and keeps the one whose estimated error where people are is the least: of sums at
    all sizes, from cells to districts, in one slice and over all; without fusion, of cells. Where there is a `past`,
    models that can use it are tried with it too, and join the choice where their prior is surely better for it.
    """
    task = Task(noisy, noise, slices_per_day, settings, folder, progress, launcher, kept)
    candidates = _try_models(settings.models, task, {})
    if past is not None:
        candidates += _try_with_past(candidates, replace(task, past=past))
    if not settings.uses_fusion:
        best = min(candidates, key=lambda of: of.accuracy.busy_error)
        errors = {of.name: of.accuracy.busy_error for of in candidates}
        tensor, sum_errors = Tensor(best.prior.mean, _deviation_of(best.model, task)), None
    else:
        best, tensor, sum_errors, errors = _choose_by_sums(candidates, task)
    notes = {"model": best.model, "fusion": best.fusion is not None, **best.prior.notes, **best.accuracy.as_notes()}
    if settings.model == "auto" or past is not None:
        notes["estimated_errors"] = errors
    if networks := {of.name: of.prior.notes["network"] for of in candidates if "network" in of.prior.notes}:
        notes["networks"] = networks  # kept or trained, and why; also of those that were not chosen
    if past is not None:
        notes["past"] = {"windows": past.windows, "used": best.task.past is not None}
    return tensor, notes if sum_errors is None else notes | {"sum_errors": sum_errors.as_notes()}


def _deviation_of(model: str, task: Task) -> Slices | None:
    return np.full_like(task.noisy, task.noise.deviation) if model == "identity" else None


def _choose_by_sums(
    candidates: list[_Candidate], task: Task
) -> tuple[_Candidate, Tensor, SumErrors | None, dict[str, float]]:
    """Fuse and reconcile every candidate, and return the best, its tensor and errors, and the overall error of each."""
    perturbed = perturb(task.noisy, task.noise)
    # One for all: models share what they make of it. The past stays as it is, since its noise is none of this window's.
    again = {id(of.task): of.task.over(perturbed.noisy, perturbed.noise) for of in candidates}
    best: tuple[_Candidate, Tensor, SumErrors | None] | None = None
    errors: dict[str, float] = {}
    with_past = {candidate.model for candidate in candidates if candidate.alone is not None}
    predicted: dict[str, Slices] = {}  # from the perturbed counts, by these models without the past
    for candidate, following in zip(candidates, [*candidates[1:], None], strict=True):
        if candidate.fusion is None:
            errors[candidate.name] = 1.0  # as bad as the noise, by definition
            found: tuple[Tensor, SumErrors | None] = Tensor(task.noisy, _deviation_of("identity", task)), None
        else:
            second = again[id(candidate.task)]
            prior_again = candidate.prior.again(second)
            if following is None or following.task is not candidate.task:
                second.forget()  # what follows takes memory of its own
            if candidate.alone is None and candidate.model in with_past:
                predicted[candidate.model] = prior_again
            alone_again = None if candidate.alone is None else predicted.pop(candidate.model)
            twin = _Twin(second, prior_again, alone_again)
            tensor, risks = _fuse_and_reconcile(candidate, candidate.fusion, task, twin, perturbed)
            errors[candidate.name] = risks.overall * (1.0 if candidate.task.past is None else _TRUST_IN_PAST)
            found = tensor, risks.errors
        if best is None or errors[candidate.name] < errors[best[0].name]:
            best = candidate, *found
    assert best is not None
    return *best, errors


@dataclass
class _Twin:
    """What a candidate makes of the perturbed counts."""

    task: Task
    prior: Slices  # of all slices shown, (S, M, M)
    alone: Slices | None  # by the same model without the past, (T, M, M)

    def denoise(self, candidate: _Candidate) -> Denoised:
        """Fuse and return what reconciliation compares."""
        fusion = _fit_fusion(candidate.prior, self.prior, self.alone, self.task)
        fused = fusion.apply(self.task.own(self.prior), self.task.noisy, self.task.progress)
        return _as_denoised(self.task.noisy, fused, fusion, self.task.noise)


def _fuse_and_reconcile(
    candidate: _Candidate, fusion: Posteriors, task: Task, twin: _Twin, perturbed: Perturbed
) -> tuple[Tensor, SumRisks]:
    """Return the posterior with its sums reconciled, and how far sums are off, by the same from perturbed counts."""
    fused = fusion.apply(candidate.prior.mean, task.noisy, task.progress)
    with task.progress.task("denoise: reconcile sums", None):
        again = twin.denoise(candidate)
        twins = Twins(_as_denoised(task.noisy, fused, fusion, task.noise), again, perturbed.signs)
        twins = reconcile(twins, task.noise)
        counts = twins.first.counts
        # What was put right was wrong with the prior: refinement, which pulls towards it, must not undo that.
        assert fused.prior is not None
        expected = np.maximum(fused.prior + (counts - fused.counts), 0)
        return replace(fused, counts=counts, prior=expected), judge_sums(twins, task.noise)


def _as_denoised(noisy: Slices, fused: Tensor, fusion: Posteriors, noise: Noise) -> Denoised:
    assert fused.prior is not None
    assert fused.deviation is not None
    populated = np.stack([fusion.populated(t) for t in range(len(noisy))])
    return Denoised(noisy, fused.counts, resting_on_prior(fused.prior, fused.deviation, noise), populated)


@dataclass(frozen=True)
class _Candidate:
    """A model that was tried, and how good its cells look."""

    model: str
    task: Task
    prior: Prior
    alone: Prior | None  # that of the window alone, where this one knows the past
    fusion: Posteriors | None
    accuracy: Accuracy

    @property
    def expected(self) -> Slices:
        """The prior, where it knows the past as far as that may be believed. (T, M, M)"""
        return self.fusion.expected(self.prior.mean) if isinstance(self.fusion, PosteriorsTogether) else self.prior.mean

    @property
    def name(self) -> str:
        return self.model if self.task.past is None else f"{self.model}, with the past"


def _try_models(models: Sequence[str], task: Task, alone: Mapping[str, Prior]) -> list[_Candidate]:
    candidates = [_try_model(model, task, alone.get(model)) for model in models]
    task.forget()  # what the models shared: other tensors take their place
    return candidates


def _try_with_past(alone: Sequence[_Candidate], task: Task) -> list[_Candidate]:
    """Return the models that are surely better for knowing the past."""
    before = {candidate.model: candidate.prior for candidate in alone if candidate.model in WITH_PAST}
    candidates = _try_models(list(before), task, before)
    return [of for of in candidates if pays(before[of.model].mean, of.expected, task.noisy, task.noise)]


def _believed(knowing: Slices, alone: Slices, task: Task) -> Slices:
    """Return the prior that knows the past where that may be believed, elsewhere the one without. (T, M, M)"""
    assert task.past is not None
    mean: Slices = alone + believe(task.past, task.noisy, task.noise) * (knowing - alone)
    return mean


def _fit_fusion(prior: Prior, mean: Slices, alone: Slices | None, task: Task) -> Posteriors:
    """Fit fusion to what a prior says of the slices shown; one that knows the past is joined by the window's own.

    Fusion must know how much of the cells' noise comes back, where a model looks at the cells.
    """
    if alone is None:
        listening = None if prior.reconstruct is None else OwnNoise.of(prior.reconstruct, task.noisy, task.noise)
        return Fusion.fit(mean, task.noisy, task.noise, listening)
    assert task.past is not None
    if task.past.has_like_noise:
        knowing: Posteriors = OfLastSlices(Fusion.fit(mean, task.shown, task.noise), len(mean) - len(task.noisy))
    else:
        knowing = Fusion.fit(task.own(mean), task.noisy, task.noise)
    belief = believe(task.past, task.noisy, task.noise)
    return PosteriorsTogether(knowing, Fusion.fit(alone, task.noisy, task.noise), alone, belief)


def _try_model(model: str, task: Task, alone: Prior | None) -> _Candidate:
    noisy, noise = task.noisy, task.noise
    if model == "identity":
        return _Candidate(model, task, Prior(noisy, {}, lambda task: task.noisy), None, None, Accuracy.of_noise(noise))
    shown = PRIORS[model](task)
    prior = shown if task.past is None else replace(shown, mean=task.own(shown.mean).copy())
    if task.settings.fusion:
        fusion = _fit_fusion(shown, shown.mean, None if alone is None else alone.mean, task)
    else:
        fusion = None
        if alone is not None:  # the prior is what is released
            prior, alone = replace(prior, mean=_believed(prior.mean, alone.mean, task)), None
    with task.progress.task(f"denoise: estimate the error of {model}", None):
        accuracy = estimate_accuracy(
            noisy, lambda slices: _estimator(prior, fusion, slices), noise, cell_by_cell=prior.reconstruct is None
        )
    return _Candidate(model, task, prior, alone, fusion, accuracy)


def _estimator(prior: Prior, fusion: Posteriors | None, slices: list[int]) -> Estimate:
    """Return what makes an estimate out of the noisy counts of some slices."""

    def estimate(noisy: Slices) -> Slices:
        means = prior.mean[slices] if prior.reconstruct is None else prior.reconstruct(noisy)
        if fusion is None:
            return means
        layers = zip(slices, means, noisy, strict=True)
        return np.stack([fusion.posterior(t, mean, counts)[0] for t, mean, counts in layers])

    return estimate
