"""The nearest busy place: the closest cell of a slice whose released count reaches a threshold."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Grid
from vdr_spark.query.answer import Answer
from vdr_spark.query.coverage import in_utc
from vdr_spark.query.wording import format_count, format_deviation, format_moment

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

# Where no threshold is given, a hot spot is one of the busiest thousandth of the slice's cells.
BUSY_PERCENTILE = 99.9


@dataclass(frozen=True)
class Hotspot(Answer):
    """A cell that reaches the threshold, and how far it is from the place asked about."""

    lat: float  # centre of the cell
    lon: float
    row: int
    column: int
    slice: int
    slice_start: datetime  # in the release's time zone where the release was asked, else in UTC
    count: float
    deviation: float | None
    distance_m: float  # between the centres of its cell and of the cell asked about
    threshold: float
    protected: bool

    def sentence(self) -> str:
        return (
            f"The nearest hot spot is {self.distance_m:,.0f} m away at {self.lat:.5f}, {self.lon:.5f}: about "
            f"{format_count(self.count)} pings{format_deviation(self.deviation)} in the slice from "
            f"{format_moment(self.slice_start)}; the threshold is {format_count(self.threshold)}."
        )


def nearest_hotspot(
    release: Release,
    lat: float,
    lon: float,
    moment: datetime | int,
    threshold: float | None = None,
    within_m: float | None = None,
) -> Hotspot:
    """Find the cell closest to a place whose released count is at least `threshold` in one slice.

    `moment` is a time (with its zone) inside the slice, or the slice's number. The default threshold is the
    99.9th percentile of the released slice, itself a released figure. Of equally near cells the one with the
    larger count is taken. `within_m` limits the search to so many metres.
    """
    grid = release.grid
    row, column = cell_of_place(grid, lat, lon)
    number = slice_number(grid, moment)
    counts, deviation = release.part((slice(number, number + 1), slice(None), slice(None)))
    counts = counts[0].astype(np.float64)  # (M, M)
    least = _default_threshold(counts) if threshold is None else _check_threshold(threshold)
    y, x, metres = _closest(counts, least, (row, column), grid.cell_metres, within_m)
    return Hotspot(
        lat=float(grid.latitudes()[y]),
        lon=float(grid.longitudes()[x]),
        row=y,
        column=x,
        slice=number,
        slice_start=grid.slice_start(number),
        count=float(counts[y, x]),
        deviation=None if deviation is None else float(deviation[0, y, x]),
        distance_m=metres,
        threshold=least,
        protected=release.protected,
    )


def _closest(
    counts: Floats,
    least: float,
    place: tuple[int, int],
    cell_metres: tuple[float, float],
    within_m: float | None,
) -> tuple[int, int, float]:
    """Return row, column and distance of the closest cell of at least `least` pings."""
    rows, columns = np.nonzero(counts >= least)
    height, width = cell_metres
    # To the millimetre: cells that lie equally far must not be told apart by the last bit.
    metres = np.round(np.hypot((rows - place[0]) * height, (columns - place[1]) * width), 3)
    near = metres <= (math.inf if within_m is None else within_m)
    if not near.any():
        raise _no_hotspot(counts, least, float(metres.min()) if metres.size else None, within_m)
    rows, columns, metres = rows[near], columns[near], metres[near]
    best = np.lexsort((-counts[rows, columns], metres))[0]  # by distance, then by the larger count
    return int(rows[best]), int(columns[best]), float(metres[best])


def cell_of_place(grid: Grid, lat: float, lon: float) -> tuple[int, int]:
    """Return row and column of a place; `InvalidQuery` outside the release's box."""
    box = grid.box
    for name, value, least, most in (("lat", lat, box.south, box.north), ("lon", lon, box.west, box.east)):
        if not least <= value <= most:  # also refuses NaN
            raise InvalidQuery(
                f"{name} must lie inside the release's box, {least:.9f} to {most:.9f} degrees, "
                f"not {value:.9f}; ask about a place inside"
            )
    # The northern and eastern edges themselves belong to the last row and column.
    return min(grid.row_of(lat), grid.cells_per_side - 1), min(grid.column_of(lon), grid.cells_per_side - 1)


def slice_number(grid: Grid, moment: datetime | int) -> int:
    """Return the slice that holds a moment, or that number; `InvalidQuery` outside the release's period."""
    if isinstance(moment, datetime):
        number = grid.slice_of(in_utc("moment", moment))
        received, zone = format_moment(moment), moment.tzinfo
    else:
        number, received, zone = moment, str(moment), None
    if not 0 <= number < grid.slices:
        raise InvalidQuery(
            f"moment must lie in the release's period, {format_moment(grid.start, zone)} to just before "
            f"{format_moment(grid.end, zone)} (slices 0 to {grid.slices - 1}), not {received}; choose a time inside"
        )
    return number


def _default_threshold(counts: Floats) -> float:
    threshold = float(np.percentile(counts, BUSY_PERCENTILE))
    if threshold <= 0:
        raise InvalidQuery(
            f"threshold must be given for a slice whose {BUSY_PERCENTILE}th percentile is {threshold:.3g}: "
            f"hardly any cell has pings; set one up to {counts.max():.6g}, its largest released count"
        )
    return threshold


def _check_threshold(threshold: float) -> float:
    if not (math.isfinite(threshold) and threshold > 0):
        raise InvalidQuery(f"threshold must be a positive number of pings, not {threshold}; raise it")
    return threshold


def _no_hotspot(counts: Floats, least: float, nearest_m: float | None, within_m: float | None) -> InvalidQuery:
    if nearest_m is None:
        return InvalidQuery(
            f"threshold must be at most {counts.max():.6g}, the largest released count of the slice, "
            f"not {least:.6g}; lower it"
        )
    return InvalidQuery(
        f"within_m must be at least {math.ceil(nearest_m)} to reach a cell of {least:.6g} pings, "
        f"not {within_m}; widen it or lower the threshold "
        f"(the largest released count of the slice is {counts.max():.6g})"
    )
