"""Whether a cell lies in a town, in thinly used country or where nobody is: by wide means over the other slices.

A single cell's noise says little about a mean of a hundredth of a ping, but thousands of cells together do. Most of a
grid is sea or forest; what is learnt there must not be applied in suburbs that hold a few pings, nor the other way
round: a bin that mixes the two would put the suburbs' pings into the sea.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Image, Mask, Slices
from vdr_spark.denoise.statistics.local_mean import (
    variance_of_wide_mean,
    wide_local_mean,
    wide_local_mean_excluding_self,
)
from vdr_spark.denoise.statistics.subsets import LeaveOneOut

NUMBER = 3  # of classes: empty, thin, busy
_WIDTHS = (32.0, 8.0)  # cells, in which the mean must stand out for a cell to be no longer empty, no longer thin
_SURE = 3.0  # deviations of the noise in such a mean


class Surroundings:
    """Classes of the cells of a noisy tensor (T, M, M). Nothing of slice t is in the classes of slice t."""

    def __init__(self, noisy: Slices, noise_variance: float, others: LeaveOneOut) -> None:
        self._noisy, self._variance, self._others = noisy, noise_variance, others
        self._widths = [min(width, noisy.shape[1] / 8) for width in _WIDTHS]
        self._last: tuple[int, NDArray[np.int8]] | None = None

    def of(self, t: int) -> NDArray[np.int8]:
        """Return 0 where the country is empty as far as can be told, 1 where it is thin, 2 where it is busy. (M, M)"""
        if self._last is None or self._last[0] != t:
            wide, near = (self._stands_out(t, width) for width in self._widths)
            self._last = t, np.where(near, np.int8(2), wide.astype(np.int8))
        return self._last[1]

    def _stands_out(self, t: int, width: float) -> Mask:
        mean, variance = self._mean(t, width)
        found: Mask = mean > _SURE * np.sqrt(self._variance * variance)
        return found

    def _mean(self, t: int, width: float) -> tuple[Image, Floats]:
        """Return the mean around every cell, and its variance where that of a cell's noise is 1. (M, M) each"""
        if len(self._noisy) == 1:  # nothing but the slice itself, without the cell
            mean = wide_local_mean_excluding_self(self._noisy[0], width)
            return mean, variance_of_wide_mean(mean.shape, width, with_self=False)
        rate = wide_local_mean(self._others.rate(t), width)
        return rate, variance_of_wide_mean(rate.shape, width) / self._others.weight(t)
