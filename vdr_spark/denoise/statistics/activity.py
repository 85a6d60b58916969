"""How busy each slice is, relative to the mean one."""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.denoise.statistics.local_mean import local_mean, remaining_variance

_SMOOTHING = 1.0  # cells; of the map of other slices that a slice is compared with
_SURE = 3.0  # deviations of its noise above which that map is believed
_LEAST = 0.02  # of the mean slice: a slice is never taken for wholly empty


def estimate_activity(noisy: Slices, noise_variance: float) -> Floats:
    """Return how busy each slice of a noisy tensor (T, M, M) is; of mean 1, and never quite zero. (T,)

    Two views are weighed by their variances. The totals: right on average, but each holds the noise of all its cells.
    The regression on a map of the other slices, where that stands out: little noise, but wrong as far as the slice
    has another shape than the others. How much that is shows in how far the two disagree beyond their noise.
    """
    totals = noisy.sum(axis=(1, 2), dtype=np.float64)
    if len(noisy) == 1 or totals.mean() <= 0:
        return np.ones(len(noisy))
    by_total = totals / totals.mean()
    variance = np.full(len(noisy), noisy[0].size * noise_variance / totals.mean() ** 2)
    by_map, map_variance = _regress_on_others(noisy, noise_variance)
    if by_map.mean() > 0:
        by_map /= by_map.mean()
        misfit = max(0.0, float((by_total - by_map).var() - variance[0] - map_variance.mean()))
        trust = variance / (variance + map_variance + misfit) if noise_variance > 0 else np.zeros(len(noisy))
        by_total = (1 - trust) * by_total + trust * by_map
        variance = (1 - trust) * variance
    spread = by_total.var()
    real = max(0.0, 1 - float(variance.mean()) / spread) if spread > 0 else 0.0  # what of the spread is not noise
    activity: Floats = np.maximum(1 + real * (by_total - 1), _LEAST)
    return activity


def _regress_on_others(noisy: Slices, noise_variance: float) -> tuple[Floats, Floats]:
    """Regress each slice on the mean of the others; return the slopes and their variances. (T,), (T,)"""
    number, total = len(noisy), noisy.sum(axis=0, dtype=np.float64)
    sure = _SURE * np.sqrt(noise_variance / (number - 1) * remaining_variance(_SMOOTHING))
    slope, variance = np.zeros(number), np.full(number, np.inf)
    for t, counts in enumerate(noisy):
        others = local_mean((total - counts) / (number - 1), _SMOOTHING)
        others = np.where(others > sure, others, 0)
        # Cells vary by as much as they hold: without that term the few largest would speak for all.
        weights = others / (noise_variance + others + others**2 + 1e-12)
        known = float((weights * others).sum())
        if known > 0:
            slope[t], variance[t] = float((weights * counts).sum()) / known, 1 / known
    return slope, variance
