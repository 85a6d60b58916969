"""How right sums are at every scale: from cells to districts, in one slice and in all, where people are and anywhere.

A release that is right for single cells can be wrong for a city: errors too small to see in a cell, but alike in all of
them, add up. Figures are exact about the data: never part of a release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.evaluate.metrics import SMOOTHING_SHARE, relative_error
from vdr_spark.evaluate.workloads import RangeQueries, Tensor, range_queries
from vdr_spark.grid import Grid

_QUERIES = 1000
_SEED = 2  # of the questions, not of any noise
_SIDES = ((1, 4), (8, 32), (64, 256))  # cells
_BAR_SIDES = (1, 4, 16, 64)

Deviation = Callable[[RangeQueries], Floats]
"""One standard deviation of each answer, as a release tells it. (Q,)"""


@dataclass(frozen=True)
class Scale:
    """A kind of question: squares with sides in a range of cells, in one slice or over all, at pings or anywhere."""

    sides: tuple[int, int]
    all_slices: bool
    anywhere: bool

    @property
    def name(self) -> str:
        """A short name, for tables and JSON."""
        low, high = self.sides
        sides = f"{low}" if low == high else f"{low}-{high}"
        return f"{sides} {'all' if self.all_slices else 'one'}{' anywhere' if self.anywhere else ''}"

    def queries(self, truth: Tensor, grid: Grid) -> RangeQueries:
        """Sample the questions."""
        side = grid.cell_metres[0]
        metres = (self.sides[0] * side, self.sides[1] * side)
        return range_queries(truth, grid, _SEED, _QUERIES, metres, self.anywhere, self.all_slices)


def _scales(sides: tuple[tuple[int, int], ...], most: int) -> list[Scale]:
    return [
        Scale(of, all_slices, anywhere)
        for anywhere in (False, True)
        for all_slices in (False, True)
        for of in sides
        if of[0] <= most
    ]


def compare_scales(truth: Tensor, estimate: Tensor, grid: Grid) -> dict[str, float]:
    """Return the mean relative error of range counts by the name of their scale, and the ratio of the sums.

    Counts below 0.1 % of the pings in the slices asked about are not divided by.
    """
    total = float(truth.sum(dtype=np.float64))
    found = {"sum": float(estimate.sum(dtype=np.float64)) / total}
    for scale in _scales(_SIDES, grid.cells_per_side // 2):
        queries = scale.queries(truth, grid)
        psi = SMOOTHING_SHARE * total / (1 if scale.all_slices else len(truth))
        found[scale.name] = relative_error(queries.answers(truth), queries.answers(estimate), psi)
    return found


def measure_coverage(
    truth: Tensor, estimate: Tensor, deviation: Deviation, grid: Grid
) -> dict[str, tuple[float, float]]:
    """Return which shares of range counts lie within one and two deviations of the truth, by the scale's name."""
    found = {}
    for scale in _scales(tuple((side, side) for side in _BAR_SIDES), grid.cells_per_side // 2):
        queries = scale.queries(truth, grid)
        away = np.abs(queries.answers(estimate) - queries.answers(truth))
        bar = deviation(queries)
        found[scale.name] = (float(np.mean(away <= bar)), float(np.mean(away <= 2 * bar)))
    return found
