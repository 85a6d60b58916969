"""Subsets of the slices: a few of many, evenly spaced, and all but one."""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Floats, Image, Slices


def evenly_spaced(slices: int, most: int) -> list[int]:
    """Return at most `most` numbers of 0 .. slices - 1, the first and the last among them.

    What is fitted or measured seldom needs all slices.
    """
    return [int(t) for t in np.unique(np.linspace(0, slices - 1, min(most, slices)).round())]


class LeaveOneOut:
    """What the slices other than one say about each cell: its rate, by least squares on how busy they are.

    Of a noisy tensor of at least 2 slices, (T, M, M), under count = activity * rate.
    """

    def __init__(self, noisy: Slices, activity: Floats) -> None:
        self._noisy, self.activity = noisy, activity
        # In single precision: else it would make a copy of the tensor in double precision.
        self._weighted = np.tensordot(activity.astype(np.float32), noisy, axes=1)  # (M, M)
        self._weight = float((activity**2).sum())

    def rate(self, t: int) -> Image:
        """Return every cell's rate by the slices other than t; nothing of slice t is in it. (M, M)"""
        rate: Image = (self._weighted - np.float32(self.activity[t]) * self._noisy[t]) / np.float32(self.weight(t))
        return rate

    def weight(self, t: int) -> float:
        """Return the weight of the rate without t: its noise has the variance of a cell's over this."""
        return self._weight - float(self.activity[t]) ** 2
