"""What the slices other than one say about each cell: its rate, by least squares on how busy they are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Slices = NDArray[np.float32]
Image = NDArray[np.float32]
Array = NDArray[np.float64]


class OtherSlices:
    """Of a noisy tensor of at least 2 slices, (T, M, M), under count = activity * rate."""

    def __init__(self, noisy: Slices, activity: Array) -> None:
        self._noisy, self.activity = noisy, activity
        # In single precision: else it would make a copy of the tensor in double precision.
        self._weighted = np.tensordot(activity.astype(np.float32), noisy, axes=1)  # (M, M)
        self._weight = float((activity**2).sum())

    def rate(self, t: int) -> Image:
        """Nothing of slice t is in it. (M, M)"""
        rate: Image = (self._weighted - np.float32(self.activity[t]) * self._noisy[t]) / np.float32(self.weight(t))
        return rate

    def weight(self, t: int) -> float:
        """The rate's noise has this share of a cell's variance, inverted."""
        return self._weight - float(self.activity[t]) ** 2
