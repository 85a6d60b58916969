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
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter

from vdr_spark.progress import Progress, Silent

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
_LEAST_ACTIVITY = 0.02  # of the mean slice: a slice is never taken for wholly empty

Slices = NDArray[np.float32]


@dataclass(frozen=True)
class TemporalPrior:
    """Predicted mean of every cell (T, M, M), and how it was made."""

    mean: Slices
    width: float
    blind_risk: float  # estimated mean squared error of a cell, before fusion


def temporal_prior(noisy: Slices, noise_variance: float, progress: Progress | None = None) -> TemporalPrior:
    """Predict every slice of a noisy tensor (T, M, M) from the other ones."""
    activity = slice_activity(noisy, noise_variance)
    others = _OtherSlices(noisy, activity)
    chosen = np.unique(np.linspace(0, len(noisy) - 1, _SLICES_FOR_CHOICE).round().astype(int))
    risks = {}
    with (progress or Silent()).task("denoise: temporal prior", len(_WIDTHS) + len(noisy)) as update:
        for done, width in enumerate(_WIDTHS[1:] if len(noisy) == 1 else _WIDTHS):
            losses = [np.mean((noisy[t] - others.predict(t, width)) ** 2) for t in chosen]
            risks[width] = float(np.mean(losses)) - noise_variance
            update(done, f"width {width:g}")
        best = min(risks, key=lambda width: risks[width])
        mean = np.empty_like(noisy)
        for t in range(len(noisy)):
            mean[t] = np.maximum(others.predict(t, best), 0)
            update(len(_WIDTHS) + t + 1, f"width {best:g}")
    return TemporalPrior(mean, best, risks[best])


def slice_activity(noisy: Slices, noise_variance: float) -> NDArray[np.float64]:
    """How busy each slice is, relative to the mean slice, shrunk to 1 as far as the totals are noise. (T,)"""
    totals = noisy.sum(axis=(1, 2), dtype=np.float64)
    mean = totals.mean()
    if mean <= 0:
        return np.ones(len(noisy))
    relative = totals / mean
    noise = noisy[0].size * noise_variance / mean**2
    spread = relative.var()
    trust = max(0.0, spread - noise) / spread if spread > 0 else 0.0
    activity: NDArray[np.float64] = np.maximum(1 + trust * (relative - 1), _LEAST_ACTIVITY)
    return activity


class _OtherSlices:
    """Predictions of a slice that contain nothing of a cell's own noise."""

    def __init__(self, noisy: Slices, activity: NDArray[np.float64]):
        self._noisy, self._activity = noisy, activity
        self._weighted = np.tensordot(activity, noisy, axes=1)  # (M, M)
        self._weight = float((activity**2).sum())

    def predict(self, t: int, width: float) -> Slices:
        """(M, M)"""
        if len(self._noisy) == 1:
            return _without_own_cell(self._noisy[0], width)
        own = self._activity[t]
        rate = (self._weighted - own * self._noisy[t]) / (self._weight - own**2)
        smooth = gaussian_filter(rate, width, mode="nearest") if width else rate
        predicted: Slices = (own * smooth).astype(np.float32)
        return predicted


def _without_own_cell(image: Slices, width: float) -> Slices:
    """A Gaussian mean of the neighbours only: where there is one slice, space is all there is. (M, M)"""
    impulse = np.zeros((129, 129))
    impulse[64, 64] = 1
    centre = gaussian_filter(impulse, width)[64, 64]
    smooth = gaussian_filter(image.astype(np.float64), width, mode="nearest")
    neighbours: Slices = ((smooth - centre * image) / (1 - centre)).astype(np.float32)
    return neighbours
