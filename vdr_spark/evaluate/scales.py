"""How right sums are at every scale: from cells to districts, in one slice and in all, where people are and anywhere.

A release that is right for single cells can be wrong for a city: errors too small to see in a cell, but alike in all of
them, add up. Figures are exact about the data: never part of a release.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.evaluate.metrics import SMOOTHING_SHARE, relative_error
from vdr_spark.evaluate.workloads import RangeQueries, Tensor, range_queries
from vdr_spark.grid import Grid
from vdr_spark.sum_errors import SumErrors

_QUERIES = 1000
_SEED = 2  # of the questions, not of any noise
_SIDES = ((1, 4), (8, 32), (64, 256))  # cells
_BAR_SIDES = (1, 4, 16, 64, 256)
_BAR_SLICES = 8  # beside one and all
_BARS = (1.0, 1.645, 2.0)  # deviations; of a normal 68, 90 and 95 % lie within

Coverage = tuple[float, float, float]
"""The shares of answers within so many deviations of the truth: one, those of a nominal 90 % interval, two."""

Deviation = Callable[[RangeQueries], Floats]
"""One standard deviation of each answer, as a release tells it. (Q,)"""


@dataclass(frozen=True)
class Scale:
    """A kind of question: squares with sides in a range of cells, over some slices, at pings or anywhere."""

    sides: tuple[int, int]
    slices: int | None  # None: all
    anywhere: bool

    @property
    def name(self) -> str:
        """A short name, for tables and JSON."""
        low, high = self.sides
        sides = f"{low}" if low == high else f"{low}-{high}"
        slices = {None: "all", 1: "one"}.get(self.slices, f"{self.slices}")
        return f"{sides} {slices}{' anywhere' if self.anywhere else ''}"

    def queries(self, truth: Tensor, grid: Grid) -> RangeQueries:
        """Sample the questions."""
        side = grid.cell_metres[0]
        metres = (self.sides[0] * side, self.sides[1] * side)
        return range_queries(truth, grid, _SEED, _QUERIES, metres, self.anywhere, self.slices or len(truth))


def _scales(sides: tuple[tuple[int, int], ...], slices: tuple[int | None, ...], most: int) -> list[Scale]:
    return [
        Scale(of, number, anywhere) for anywhere in (False, True) for number in slices for of in sides if of[0] <= most
    ]


def compare_scales(truth: Tensor, estimate: Tensor, grid: Grid) -> dict[str, float]:
    """Return the mean relative error of range counts by the name of their scale, and the ratio of the sums.

    Counts below 0.1 % of the pings in the slices asked about are not divided by.
    """
    total = float(truth.sum(dtype=np.float64))
    found = {"sum": float(estimate.sum(dtype=np.float64)) / total}
    for scale in _scales(_SIDES, (1, None), grid.cells_per_side // 2):
        queries = scale.queries(truth, grid)
        psi = SMOOTHING_SHARE * total / (len(truth) / (scale.slices or len(truth)))
        found[scale.name] = relative_error(queries.answers(truth), queries.answers(estimate), psi)
    return found


def bars_of(tensor: Slices, deviation: Slices, errors: SumErrors | None) -> Deviation:
    """Return what tells the error bars of range counts, as a release does. (T, M, M) each"""
    variances = np.square(deviation)

    def bars(queries: RangeQueries) -> Floats:
        own = queries.answers(variances)
        if errors is not None:
            area = ((queries.north - queries.south) * (queries.east - queries.west)).astype(np.float64)
            slices = np.full(len(area), float(queries.length))
            own = errors.variance(area * slices, slices, queries.answers(tensor), own)
        found: Floats = np.sqrt(own)
        return found

    return bars


def measure_coverage(truth: Tensor, estimate: Tensor, deviation: Deviation, grid: Grid) -> dict[str, Coverage]:
    """Return which shares of range counts lie within their error bars, by the scale's name."""
    found = {}
    slices = (1, _BAR_SLICES, None) if len(truth) > _BAR_SLICES else (1, None)
    for scale in _scales(tuple((side, side) for side in _BAR_SIDES), slices, grid.cells_per_side // 2):
        queries = scale.queries(truth, grid)
        away = np.abs(queries.answers(estimate) - queries.answers(truth))
        bar = deviation(queries)
        one, ninety, two = (float(np.mean(away <= times * bar)) for times in _BARS)
        found[scale.name] = (one, ninety, two)
    return found
