"""How many pings lie in a box during a period, by the released cells."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.grid import Box
from vdr_spark.query.answer import Answer
from vdr_spark.query.coverage import AxisCover, cover_box, cover_period
from vdr_spark.query.wording import box_sides_m, format_box, format_count, format_deviation, format_moment

if TYPE_CHECKING:
    from vdr_spark.release.release import Release


@dataclass(frozen=True)
class RangeCount(Answer):
    """The answer to a range count: an estimate, and what exactly it was asked about."""

    count: float  # pings; below zero where a release without denoising happens to be
    deviation: float | None  # one standard deviation of the count, where the release carries error bars
    cells: int  # released cells that were touched, wholly or in part
    box: Box
    start: datetime  # UTC
    end: datetime  # UTC
    protected: bool

    @property
    def cannot_be_told_from_zero(self) -> bool:
        """Whether two deviations reach down to no ping at all."""
        return self.deviation is not None and self.count < 2 * self.deviation

    @property
    def area_km2(self) -> float:
        """The area of the box."""
        width, height = box_sides_m(self.box)
        return width * height / 1e6

    def sentence(self) -> str:
        if self.cannot_be_told_from_zero:
            return (
                f"Too few pings to be told from zero (about {format_count(self.count)}"
                f"{format_deviation(self.deviation, opening=', ')}) between {format_moment(self.start)} and "
                f"{format_moment(self.end)} in a box of {format_box(self.box)}."
            )
        return (
            f"About {format_count(self.count)} pings{format_deviation(self.deviation)} between "
            f"{format_moment(self.start)} and {format_moment(self.end)} in a box of {format_box(self.box)}."
        )


def range_count(release: Release, box: Box, start: datetime | None = None, end: datetime | None = None) -> RangeCount:
    """Count the pings of a box between two moments; without moments, of the whole period.

    Cells that the query cuts count by the share of their area and time that it covers. The deviation is that of a sum
    of this size (`SumErrors`): errors of cells that are alike add up. Where a release does not know it, the cells'
    variances are added as if their errors were independent.
    """
    rows, columns = cover_box(release.grid, box)
    since, until, slices = cover_period(release.grid, start, end)
    counts, deviations = release.part((slices.cells, rows.cells, columns.cells))
    count = _weighted_sum(counts, slices, rows, columns, power=1)
    deviation = None
    if deviations is not None:
        own = _weighted_sum(deviations, slices, rows, columns, power=2)
        deviation = math.sqrt(own)
        if release.sum_errors is not None:
            covered = [float(axis.shares.sum()) for axis in (slices, rows, columns)]
            deviation = release.sum_errors.deviation(math.prod(covered), covered[0], count, own)
    cells = len(slices.shares) * len(rows.shares) * len(columns.shares)
    return RangeCount(count, deviation, cells, box, since, until, release.protected)


def _weighted_sum(tensor: Slices, slices: AxisCover, rows: AxisCover, columns: AxisCover, power: int) -> float:
    """Return the sum of (share x value) ** power over the covered cells, which the tensor holds."""
    total = 0.0
    for share, layer in zip(slices.shares, tensor, strict=True):
        values = layer.astype(np.float64) ** power  # one slice at a time: the tensor may be large
        total += float(share**power * (rows.shares**power @ values @ columns.shares**power))
    return total
