"""Sums over boxes of a tensor, thousands at a time: a summed-area table in three dimensions.

The table holds, at every corner of the grid, what lies before it on all three axes. Between corners a ping is anywhere
in its cell with equal chance, so what lies before a point is linear along each axis, and a box that cuts cells is
right to the last digit: eight points of the table, each between eight corners.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats

_AT_ONCE = 1 << 14  # boxes, so that what is looked up stays in the processor's cache


@dataclass(frozen=True)
class Intervals:
    """The part of one axis that each box covers, in cells: [start, end), start < end. (Q,) each"""

    start: Floats
    end: Floats

    @property
    def length(self) -> Floats:
        """How many cells are covered, cut ones by their share."""
        return self.end - self.start

    def squared(self) -> Intervals:
        """Return intervals that cover of each cell the square of the share: what a sum of variances needs."""
        first, last = np.floor(self.start), np.ceil(self.end) - 1
        within = first == last  # of one cell
        start = first + 1 - (first + 1 - self.start) ** 2
        end = last + (self.end - last) ** 2
        return Intervals(np.where(within, first, start), np.where(within, first + self.length**2, end))


class SummedAreas:
    """The table of a tensor (T, M, M); it takes twice the tensor's memory in float64."""

    def __init__(self, tensor: NDArray[Any]) -> None:
        slices, rows, columns = tensor.shape
        self._table = np.zeros((slices + 1, rows + 1, columns + 1))
        self._table[1:, 1:, 1:] = tensor
        for axis in range(3):
            np.cumsum(self._table, axis=axis, out=self._table)

    def sums(self, slices: Intervals, rows: Intervals, columns: Intervals) -> Floats:
        """Return the sum of each box. (Q,)"""
        found = np.empty(len(slices.start))
        for first in range(0, len(found), _AT_ONCE):
            some = slice(first, first + _AT_ONCE)
            axes = [Intervals(axis.start[some], axis.end[some]) for axis in (slices, rows, columns)]
            found[some] = self._sums(*axes)
        return found

    def _sums(self, slices: Intervals, rows: Intervals, columns: Intervals) -> Floats:
        total = np.zeros(len(slices.start))
        for t, y, x in product((0, 1), repeat=3):
            ends = [(axis.start, axis.end)[end] for axis, end in ((slices, t), (rows, y), (columns, x))]
            total += (-1) ** (t + y + x + 1) * self._before(*ends)
        return total

    def _before(self, *point: Floats) -> Floats:
        """Return what lies before points on all three axes. (Q,)"""
        corners = [
            np.minimum(axis.astype(np.intp), size - 2) for axis, size in zip(point, self._table.shape, strict=True)
        ]
        shares = [axis - corner for axis, corner in zip(point, corners, strict=True)]
        strides = np.array(self._table.strides) // self._table.itemsize
        base = sum(corner * stride for corner, stride in zip(corners, strides, strict=True))
        flat, total = self._table.ravel(), np.zeros(len(point[0]))
        for steps in product((0, 1), repeat=3):
            weight = np.ones_like(total)
            for step, share in zip(steps, shares, strict=True):
                weight = weight * (share if step else 1 - share)
            total += weight * flat[base + int(strides @ steps)]
        return total
