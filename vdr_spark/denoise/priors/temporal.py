"""`temporal`: the prior of a slice is what all other slices saw, smoothed in space. Seconds of CPU.

Noise does not repeat from slice to slice; roads, blocks and habits do. For slice t the model is
count = activity_t * rate(cell), the rate estimated from the slices other than t by least squares, then smoothed by a
Gaussian whose width is chosen by the *blind risk*: the prediction of a cell contains nothing of the cell's own noise,
so mean (noisy - prediction)**2 minus the known variance of the noise estimates its true squared error, from the noisy
tensor alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.local_mean import local_mean, local_mean_excluding_self
from vdr_spark.denoise.statistics.subsets import LeaveOneOut, evenly_spaced
from vdr_spark.progress import NullProgress, Progress

_WIDTHS = (
    0.0,
    0.5,
    0.7,
    1.0,
    1.4,
    2.0,
    2.8,
    4.0,
    5.6,
    8.0,
)  # of the Gaussian, in cells; steps of about sqrt(2)
_SLICES_FOR_CHOICE = 12  # the choice of one number needs no more


@dataclass(frozen=True)
class TemporalPrior:
    """Predicted mean of every cell (T, M, M), and how it was made."""

    mean: Slices
    width: float
    blind_risk: float  # estimated mean squared error of a cell, before fusion


def temporal_prior(noisy: Slices, noise_variance: float, progress: Progress | None = None) -> TemporalPrior:
    """Predict every slice of a noisy tensor (T, M, M) from the other ones."""
    predictions = _Predictions(noisy, noise_variance)
    chosen = evenly_spaced(len(noisy), _SLICES_FOR_CHOICE)
    risks = {}
    with (progress or NullProgress()).task("denoise: temporal prior", len(_WIDTHS) + len(noisy)) as update:
        for done, width in enumerate(_WIDTHS[1:] if len(noisy) == 1 else _WIDTHS):
            losses = [np.mean((noisy[t] - predictions.of(t, width)) ** 2) for t in chosen]
            risks[width] = float(np.mean(losses)) - noise_variance
            update(done, f"width {width:g}")
        best = min(risks, key=lambda width: risks[width])
        mean = np.empty_like(noisy)
        for t in range(len(noisy)):
            mean[t] = np.maximum(predictions.of(t, best), 0)
            update(len(_WIDTHS) + t + 1, f"width {best:g}")
    return TemporalPrior(mean, best, risks[best])


class _Predictions:
    """Predictions of a slice that contain nothing of a cell's own noise."""

    def __init__(self, noisy: Slices, noise_variance: float) -> None:
        self._noisy = noisy
        self._leave_one_out = LeaveOneOut(noisy, estimate_activity(noisy, noise_variance))

    def of(self, t: int, width: float) -> Slices:
        """Return the prediction of slice t, smoothed. (M, M)"""
        if len(self._noisy) == 1:
            return local_mean_excluding_self(self._noisy[0], width)
        predicted: Slices = np.float32(self._leave_one_out.activity[t]) * local_mean(self._leave_one_out.rate(t), width)
        return predicted
