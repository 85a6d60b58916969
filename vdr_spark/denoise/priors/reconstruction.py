"""The paper's denoiser: an autoencoder trained on the noisy slices, then asked to draw each of them again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vdr_spark.denoise.estimation.accuracy import busyness
from vdr_spark.denoise.estimation.risk import estimate_risk
from vdr_spark.denoise.networks.autoencoder import Autoencoder, Drawn
from vdr_spark.denoise.networks.device import autocast, compiler_explained, on_device
from vdr_spark.denoise.networks.training import Run, best_epoch, finished_log, train
from vdr_spark.errors import InvalidInput
from vdr_spark.privacy.mechanism import Noise

Slices = NDArray[np.float32]
Redraw = Callable[[Slices], Slices]
"""(T, M, M) -> (T, M, M)"""

_FEWEST_TO_HOLD_OUT = 8  # slices of a release; of fewer, none can be spared
_MOST_MEASURED = 8  # slices that are drawn three times after each epoch


def autoencoder_prior(noisy: Slices, noise: Noise, run: Run) -> tuple[Redraw, dict[str, Any]]:
    """What draws counts, at least 0, in place of noisy ones, trained on a noisy tensor (T, M, M); and its notes.

    Reads the noisy tensor only, so it is post-processing and costs no privacy.
    """
    painter = train_reconstructor(noisy, noise, run)
    log = finished_log(run)
    best = log[best_epoch(log) - 1]
    notes = {"epochs": len(log), "best_epoch": int(best["epoch"]), "held_out_error": best["error"]}
    return lambda counts: np.maximum(painter.draw(counts), 0), notes


def train_reconstructor(noisy: Slices, noise: Noise, run: Run) -> Painter:
    """A model trained on a noisy tensor (T, M, M).

    The run's folder keeps the training: one that was killed is continued, a finished one is not trained again.
    """
    if not np.isfinite(noisy).all():
        raise InvalidInput("the noisy tensor holds values that are not finite numbers; collect again")
    scaling = Scaling.of(noisy, noise, run.settings.stabilised)
    held_out = held_out_slices(len(noisy), run.settings.held_out)
    # Where none can be spared, the model is measured on slices that it has learnt from, and looks better than it is.
    measured = (noisy[held_out] if len(held_out) else noisy)[:_MOST_MEASURED]
    learnt_from = np.delete(noisy, held_out, axis=0)
    weights = busyness(learnt_from.sum(axis=0, dtype=np.float64), len(learnt_from), noise) if len(held_out) else None

    def error(model: Autoencoder) -> float:
        """The estimated squared error, relative to that of the noise itself (or to a ping's, if that is more).

        Of what is drawn before it is cut off at zero: a new model draws nothing but that, and could not be seen to
        learn.
        """
        risk = estimate_risk(measured, Painter(model, scaling, run).draw, noise, weights=weights)
        return risk / max(noise.variance, 1.0)

    fingerprint = hashlib.sha256(noisy.tobytes() + repr(noise).encode()).hexdigest()[:16]
    model = train(scaling.scaled(learnt_from), run, error, fingerprint)
    return Painter(model, scaling, run)


@dataclass(frozen=True)
class Scaling:
    """Between counts and what the network sees.

    Plain: counts over their deviation in the whole tensor; busy hours stay busy ones. Stabilised: asinh of counts in
    units of the noise, which is straight where there is only noise, and a logarithm where there are peaks.
    """

    unit: float
    stabilised: bool
    largest: float  # that the network may draw, scaled: no exponential of a wild guess

    @classmethod
    def of(cls, noisy: Slices, noise: Noise, stabilised: bool) -> Scaling:
        unit = max(1.0, noise.variance**0.5) if stabilised else float(noisy.std(dtype=np.float64)) or 1.0
        largest = float(np.abs(noisy).max(initial=0)) / unit
        return cls(unit, stabilised, 1 + (float(np.arcsinh(largest)) if stabilised else largest))

    def scaled(self, counts: Slices) -> Tensor:
        scaled = np.divide(counts, self.unit, dtype=np.float32)
        return torch.from_numpy(np.arcsinh(scaled) if self.stabilised else scaled)

    def counts(self, drawn: Tensor) -> Slices:
        """May lie below zero, as what a network draws does."""
        drawn = drawn.float().clamp(-self.largest, self.largest)
        counts: Slices = (torch.sinh(drawn) if self.stabilised else drawn).cpu().numpy() * np.float32(self.unit)
        return counts


@dataclass(frozen=True)
class Painter:
    """A model together with how it sees counts."""

    model: Autoencoder
    scaling: Scaling
    run: Run

    @torch.inference_mode()
    def draw(self, counts: Slices) -> Slices:
        """What the model makes of each slice, as it draws it: below zero too. (T, M, M) -> (T, M, M)"""
        self.model.eval()  # else looking at slices would move the codebook
        drawn, batch = np.empty_like(counts), self.run.settings.batch
        for first in range(0, len(counts), batch):
            part = slice(first, first + batch)
            drawn[part] = self.scaling.counts(self._seen(counts[part]).reconstruction[:, 0])
        return drawn

    @torch.inference_mode()
    def codes(self, counts: Slices) -> NDArray[np.int64] | None:
        """The number of the code at every place of one slice; None without a codebook. (M, M) -> (M/4, M/4)"""
        self.model.eval()
        indices = self._seen(counts[None]).indices
        return None if indices is None else indices[0].cpu().numpy()

    def _seen(self, counts: Slices) -> Drawn:
        x = on_device(self.scaling.scaled(counts)[:, None], self.run.device)  # (B, 1, M, M)
        with compiler_explained(self.run.compiled), autocast(self.run.device, self.run.mixed):
            drawn: Drawn = self.model(x)
        return drawn


def held_out_slices(slices: int, share: float) -> NDArray[np.int64]:
    """Slices, evenly spread, that the model does not learn from."""
    if share == 0 or slices < _FEWEST_TO_HOLD_OUT:
        return np.empty(0, dtype=np.int64)
    number = min(slices - 1, max(1, round(share * slices)))
    return ((np.arange(number) + 0.5) * slices / number).astype(np.int64)
