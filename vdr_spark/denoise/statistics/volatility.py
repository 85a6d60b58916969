"""How much a cell's count changes from slice to slice, beyond its noise, relative to what it holds.

A steady place is predicted well, a place where a fleet parks on some days is not, whatever the prediction says. The
volatility at slice t is judged by the other slices, so nothing of the cell's own noise is in it.
"""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Image, Slices
from vdr_spark.denoise.statistics.local_mean import local_mean
from vdr_spark.denoise.statistics.subsets import LeaveOneOut

_WIDTH = 1.0  # cells, over which it is averaged
_SMALLEST_MEAN = 0.03  # pings; below, a relative change says nothing


class Volatility:
    """The volatility of the cells of a noisy tensor of at least 3 slices, (T, M, M)."""

    def __init__(self, noisy: Slices, noise_variance: float, others: LeaveOneOut) -> None:
        self._noisy, self._variance, self._others = noisy, noise_variance, others
        self._squares = np.zeros(noisy.shape[1:])
        for counts in noisy:
            self._squares += np.square(counts, dtype=np.float64)
        self._last: tuple[int, Image] | None = None

    def of(self, t: int) -> Image:
        """Return each cell's squared coefficient of variation over the slices other than t, at times below 0. (M, M)"""
        if self._last is not None and self._last[0] == t:
            return self._last[1]
        rate = self._others.rate(t)
        own, explained = (np.square(image, dtype=np.float64) for image in (self._noisy[t], rate))
        unexplained = self._squares - own - explained * self._others.weight(t)  # of least squares on the activity
        variance = local_mean(unexplained / (len(self._noisy) - 2) - self._variance, _WIDTH)
        mean = np.maximum(local_mean(rate, _WIDTH), _SMALLEST_MEAN)
        relative: Image = (variance / mean**2).astype(np.float32)
        self._last = t, relative
        return relative
