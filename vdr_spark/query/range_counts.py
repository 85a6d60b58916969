"""Many range counts at once, with their error bars: for workloads, dashboards and evaluations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.query.coverage import cover_box, cover_period, in_utc
from vdr_spark.query.summed_areas import Intervals

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

_ROUNDING = 1e-7  # of a cell: what is nearer to an edge lies on it

Boxes = Sequence[Box] | NDArray[np.float64]
"""Boxes, or their (south, west, north, east) in degrees. (Q, 4)"""
Moments = Sequence[datetime] | NDArray[np.datetime64]
"""Moments with their time zone, or numpy's, which are in UTC. (Q,)"""


@dataclass(frozen=True)
class RangeCounts:
    """Answers to many range counts, in the order they were asked. (Q,) each"""

    counts: Floats
    deviations: Floats | None  # one standard deviation of each, where the release carries error bars


def range_counts(
    release: Release, boxes: Boxes, starts: Moments | None = None, ends: Moments | None = None
) -> RangeCounts:
    """Count the pings of many boxes, each between two moments; without moments, of the whole period.

    The same answers as `range_count` gives one by one, in microseconds each. The first call sums the release up, which
    takes a second and four times its memory.
    """
    rows, columns = _cover_boxes(release.grid, boxes)
    slices = _cover_periods(release.grid, starts, ends, len(rows.start))
    counts = release.summed_counts.sums(slices, rows, columns)
    if release.summed_variances is None:
        return RangeCounts(counts, None)
    own = release.summed_variances.sums(slices.squared(), rows.squared(), columns.squared())
    own = np.maximum(own, 0)  # differences of large sums
    if release.sum_errors is not None:
        cells = slices.length * rows.length * columns.length
        own = release.sum_errors.variance(cells, slices.length, counts, own)
    return RangeCounts(counts, np.sqrt(own))


def _cover_boxes(grid: Grid, boxes: Boxes) -> tuple[Intervals, Intervals]:
    degrees = np.array([[*vars(box).values()] for box in boxes] if isinstance(boxes, Sequence) else boxes, np.float64)
    if degrees.ndim != 2 or degrees.shape[1] != 4:
        raise InvalidQuery(f"boxes must be an array of (south, west, north, east), not of shape {degrees.shape}")
    box, side = grid.box, grid.cells_per_side
    low = (degrees[:, :2] - (box.south, box.west)) / ((box.north - box.south) / side, (box.east - box.west) / side)
    high = (degrees[:, 2:] - (box.south, box.west)) / ((box.north - box.south) / side, (box.east - box.west) / side)
    low, high = _snap(low), _snap(high)
    wrong = ~((low >= 0) & (high <= side) & (low < high)).all(axis=1)  # NaN too
    if wrong.any():
        number = int(np.argmax(wrong))
        _refuse_box(grid, number, Box(*degrees[number]))
    return Intervals(low[:, 0], high[:, 0]), Intervals(low[:, 1], high[:, 1])


def _refuse_box(grid: Grid, number: int, box: Box) -> None:
    """Raise what `range_count` says of the box, and which one it is."""
    try:
        cover_box(grid, box)
    except InvalidQuery as problem:
        raise InvalidQuery(f"box number {number}: {problem}") from None
    raise InvalidQuery(f"box number {number} must cover more than rounding of a cell; widen it")


def _cover_periods(grid: Grid, starts: Moments | None, ends: Moments | None, boxes: int) -> Intervals:
    start = np.zeros(boxes) if starts is None else _slices_at(grid, "starts", starts, boxes)
    end = np.full(boxes, float(grid.slices)) if ends is None else _slices_at(grid, "ends", ends, boxes)
    wrong = ~((start >= 0) & (end <= grid.slices) & (start < end))
    if wrong.any():
        number = int(np.argmax(wrong))
        try:
            cover_period(grid, *(None if of is None else _moment(of[number]) for of in (starts, ends)))
        except InvalidQuery as problem:
            raise InvalidQuery(f"box number {number}: {problem}") from None
    return Intervals(start, end)


def _slices_at(grid: Grid, name: str, moments: Moments, boxes: int) -> Floats:
    """Return where moments lie, in slices from the first one's start. (Q,)"""
    if len(moments) != boxes:
        raise InvalidQuery(f"{name} must hold one moment for each of the {boxes} boxes, not {len(moments)}")
    if isinstance(moments, np.ndarray):
        since = (moments.astype("datetime64[us]").astype(np.int64) - grid.start_us) / 1e6
    else:
        since = np.array([(in_utc(name, moment) - grid.start).total_seconds() for moment in moments])
    return _snap(since / grid.slice_seconds)


def _moment(moment: datetime | np.datetime64) -> datetime:
    if isinstance(moment, datetime):
        return moment
    from datetime import UTC

    return moment.astype("datetime64[us]").item().replace(tzinfo=UTC)  # type: ignore[no-any-return]


def _snap(positions: Floats) -> Floats:
    nearest = np.round(positions)
    found: Floats = np.where(np.abs(positions - nearest) < _ROUNDING, nearest, positions)
    return found
