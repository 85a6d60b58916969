"""The paper's denoiser: an autoencoder trained on the noisy slices, then asked to reconstruct each of them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vdr_spark.arrays import Integers, Slices
from vdr_spark.denoise.estimation.accuracy import busyness
from vdr_spark.denoise.estimation.risk import estimate_risk
from vdr_spark.denoise.networks.autoencoder import Autoencoder, Output
from vdr_spark.denoise.networks.checkpoint import load_checkpoint
from vdr_spark.denoise.networks.device import place_images
from vdr_spark.denoise.networks.training import Run, best_epoch, new_model, read_finished_log, run_model, train
from vdr_spark.denoise.priors.kept import KeptModels, reuse_or_train
from vdr_spark.errors import CheckpointMismatch, InvalidInput
from vdr_spark.privacy.mechanism import Noise

Reconstruct = Callable[[Slices], Slices]
"""Counts in place of noisy counts. (T, M, M) -> (T, M, M)"""

_FEWEST_FOR_VALIDATION = 8  # slices of a release; of fewer, none can be spared
_MOST_MEASURED = 8  # slices that are reconstructed three times after each epoch
_GROWN = 0.25  # of its error, from which on a kept model counts as drifted
_MOST_AT_ONCE = 8  # whole slices in a batch: a training on crops has more of them in one than memory has room for


def autoencoder_prior(
    noisy: Slices,
    noise: Noise,
    run: Run,
    kept: KeptModels | None = None,
    train_elsewhere: Callable[[], None] = lambda: None,
) -> tuple[Reconstruct, dict[str, Any]]:
    """Train on a noisy tensor (T, M, M), or use a model that is kept; return what reconstructs counts, at least 0.

    And notes about the training. `train_elsewhere` may do it in other processes, and leave it in the run's folder.
    Reads the noisy tensor only, so it is post-processing and costs no privacy.
    """
    trained = list[Reconstructor]()

    def train_here() -> Reconstructor:
        train_elsewhere()
        trained.append(train_reconstructor(noisy, noise, run))
        return trained[0]

    settings = run.settings.model_dump(mode="json")
    reconstructor, why = reuse_or_train(
        kept,
        run.model,
        settings,
        run.folder,
        lambda folder: load_reconstructor(noisy, noise, replace(run, folder=folder)),
        lambda loaded: find_drift(loaded, noisy, noise),
        train_here,
    )
    log = read_finished_log(reconstructor.run)
    best = log[best_epoch(log) - 1]
    notes = {"epochs": len(log) if trained else 0, "best_epoch": int(best["epoch"]), "validation_error": best["error"]}
    return lambda counts: np.maximum(reconstructor.reconstruct(counts), 0), notes | why


def find_drift(loaded: Reconstructor, noisy: Slices, noise: Noise) -> str | None:
    """Say that a kept model's estimated error has grown since it was trained; None where it has not, by much."""
    log = read_finished_log(loaded.run)
    before, now = log[best_epoch(log) - 1]["error"], measure_error(loaded, noisy, noise)
    if now <= before + _GROWN * abs(before):
        return None
    return f"its estimated error, relative to that of the noise, was {before:.3g} and is {now:.3g}"


def train_reconstructor(noisy: Slices, noise: Noise, run: Run) -> Reconstructor:
    """Train a model on a noisy tensor (T, M, M).

    The run's folder keeps the training: one that was killed is continued, a finished one is not trained again.
    """
    if not np.isfinite(noisy).all():
        raise InvalidInput("the noisy tensor holds values that are not finite numbers; collect again")
    scaling = Scaling.of(noisy, noise, run.settings.asinh)
    training = np.delete(noisy, validation_slices(len(noisy), run.settings.validation_share), axis=0)

    def error(model: Autoencoder) -> float:
        return measure_error(Reconstructor(model, scaling, run), noisy, noise)

    fingerprint = hashlib.sha256(noisy.tobytes() + repr(noise).encode()).hexdigest()[:16]
    model = train(scaling.scale(training), run, error, fingerprint)
    return Reconstructor(model, scaling, run)


def measure_error(reconstructor: Reconstructor, noisy: Slices, noise: Noise) -> float:
    """Return the estimated squared error, relative to that of the noise itself (or to a ping's, if that is more).

    On slices that the model has not learnt from, of what is reconstructed before it is cut off at zero: a new model
    makes nothing but that, and could not be seen to learn.
    """
    validation = validation_slices(len(noisy), reconstructor.run.settings.validation_share)
    # Where none can be spared, the model is measured on slices that it has learnt from, and looks better than it is.
    measured = (noisy[validation] if len(validation) else noisy)[:_MOST_MEASURED]
    learnt = noisy.sum(axis=0, dtype=np.float64) - noisy[validation].sum(axis=0, dtype=np.float64)
    weights = busyness(learnt, len(noisy) - len(validation), noise) if len(validation) else None
    risk = estimate_risk(measured, reconstructor.reconstruct, noise, weights=weights)
    return risk / max(noise.variance, 1.0)


def load_reconstructor(noisy: Slices, noise: Noise, run: Run) -> Reconstructor:
    """Return the model of the training in a run's folder, with the scaling of another noisy tensor."""
    checkpoint = load_checkpoint(run.folder)
    if checkpoint is None:
        raise CheckpointMismatch(f"there is no checkpoint in {run.folder}")
    model = new_model(run)
    checkpoint.restore_best(model)
    return Reconstructor(model.eval(), Scaling.of(noisy, noise, run.settings.asinh), run)


@dataclass(frozen=True)
class Scaling:
    """How counts become what the network sees, and back.

    Plain: counts over their deviation in the whole tensor; busy hours stay busy ones. Asinh: asinh of counts in
    deviations of the noise, which is straight where there is only noise, and a logarithm where there are peaks.
    """

    divisor: float  # pings
    asinh: bool
    largest: float  # that the network may reconstruct, scaled: no exponential of a wild guess

    @classmethod
    def of(cls, noisy: Slices, noise: Noise, asinh: bool) -> Scaling:
        """Return the scaling of a noisy tensor (T, M, M)."""
        divisor = max(1.0, noise.deviation) if asinh else float(noisy.std(dtype=np.float64)) or 1.0
        largest = float(np.abs(noisy).max(initial=0)) / divisor
        return cls(divisor, asinh, 1 + (float(np.arcsinh(largest)) if asinh else largest))

    def scale(self, counts: Slices) -> Tensor:
        """Return what the network sees of counts, in any shape."""
        scaled = np.divide(counts, self.divisor, dtype=np.float32)
        return torch.from_numpy(np.arcsinh(scaled) if self.asinh else scaled)

    def unscale(self, images: Tensor) -> Slices:
        """Return the counts of what a network has made; they may lie below zero."""
        images = images.float().clamp(-self.largest, self.largest)
        counts: Slices = (torch.sinh(images) if self.asinh else images).cpu().numpy() * np.float32(self.divisor)
        return counts


@dataclass(frozen=True)
class Reconstructor:
    """A model together with how it sees counts."""

    model: Autoencoder
    scaling: Scaling
    run: Run

    @torch.inference_mode()
    def reconstruct(self, counts: Slices) -> Slices:
        """Return what the model makes of each slice, below zero too. (T, M, M) -> (T, M, M)"""
        self.model.eval()  # else looking at slices would move the codebook
        reconstructed, batch_size = np.empty_like(counts), min(self.run.settings.batch_size, _MOST_AT_ONCE)
        for first in range(0, len(counts), batch_size):
            batch = slice(first, first + batch_size)
            reconstructed[batch] = self.scaling.unscale(self._run(counts[batch]).reconstruction[:, 0])
        return reconstructed

    @torch.inference_mode()
    def codes(self, counts: Slices) -> Integers | None:
        """Return the number of the code at every place of one slice; None without a codebook. (M, M) -> (M/4, M/4)"""
        self.model.eval()
        indices = self._run(counts[None]).indices
        return None if indices is None else indices[0].cpu().numpy()

    def _run(self, counts: Slices) -> Output:
        x = place_images(self.scaling.scale(counts)[:, None], self.run.device)  # (B, 1, M, M)
        return run_model(self.model, x, self.run)


def validation_slices(slices: int, share: float) -> Integers:
    """Return the numbers of slices, evenly spread, that the model does not learn from."""
    if share == 0 or slices < _FEWEST_FOR_VALIDATION:
        return np.empty(0, dtype=np.int64)
    number = min(slices - 1, max(1, round(share * slices)))
    return ((np.arange(number) + 0.5) * slices / number).astype(np.int64)
