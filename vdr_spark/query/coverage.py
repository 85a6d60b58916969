"""How much of each row, column and slice a query covers, and the refusal of what lies outside the release.

A ping is taken to be anywhere in its cell with equal chance, so a query that cuts a cell gets the covered
share of it. Outside its box and period a release knows nothing: such a query is refused, not answered by 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.query.wording import format_moment

_EDGE_DEGREES = 1e-9  # a tenth of a millimetre: what rounding may push over an edge, and 9 digits can write
EDGE_CELLS = 1e-7  # a remainder of a cell below this is rounding too


@dataclass(frozen=True)
class AxisCover:
    """The cells `first .. first + len(shares)` along one axis, and the share of each that is covered."""

    first: int
    shares: Floats

    @property
    def cells(self) -> slice:
        """The covered cells as an index."""
        return slice(self.first, self.first + len(self.shares))


def cover(start: float, end: float, cells: int) -> AxisCover:
    """Return the shares of the unit cells 0 .. `cells` that the interval [start, end) covers."""
    low, high = (_snap(min(max(edge, 0.0), float(cells))) for edge in (start, end))
    first = min(math.floor(low), cells - 1)
    last = max(math.ceil(high), first + 1)
    edges = np.clip(np.arange(first, last + 1, dtype=np.float64), low, high)
    return AxisCover(first, np.diff(edges))


def _snap(position: float) -> float:
    nearest = round(position)
    return float(nearest) if abs(position - nearest) < EDGE_CELLS else position


def cover_box(grid: Grid, box: Box) -> tuple[AxisCover, AxisCover]:
    """Return the rows and the columns that a box covers; `InvalidQuery` unless it lies inside the release's box."""
    _check_side("south", box.south, "north", box.north, grid.box.south, grid.box.north)
    _check_side("west", box.west, "east", box.east, grid.box.west, grid.box.east)
    height = (grid.box.north - grid.box.south) / grid.cells_per_side
    width = (grid.box.east - grid.box.west) / grid.cells_per_side
    rows = cover((box.south - grid.box.south) / height, (box.north - grid.box.south) / height, grid.cells_per_side)
    columns = cover((box.west - grid.box.west) / width, (box.east - grid.box.west) / width, grid.cells_per_side)
    return rows, columns


def _check_side(low_name: str, low: float, high_name: str, high: float, least: float, most: float) -> None:
    for name, value in ((low_name, low), (high_name, high)):
        if not math.isfinite(value):
            raise InvalidQuery(f"{name} must be a number of degrees, not {value}; correct it")
    if low >= high:
        raise InvalidQuery(
            f"{low_name} must be less than {high_name}, not {low:.9f} and {high:.9f}; swap or widen them"
        )
    for name, value in ((low_name, low), (high_name, high)):
        if not least - _EDGE_DEGREES <= value <= most + _EDGE_DEGREES:
            raise InvalidQuery(
                f"{name} must lie inside the release's box, {least:.9f} to {most:.9f} degrees, "
                f"not {value:.9f}; the release knows nothing outside, so shrink or move the query's box"
            )


def cover_period(grid: Grid, start: datetime | None, end: datetime | None) -> tuple[datetime, datetime, AxisCover]:
    """Return the period asked for, in UTC, and the slices it covers; None means the release's own start or end."""
    since = grid.start.astimezone(UTC) if start is None else in_utc("start", start)
    until = grid.end.astimezone(UTC) if end is None else in_utc("end", end)
    zone = next((moment.tzinfo for moment in (start, end) if moment is not None), UTC)  # a refusal speaks the asker's
    for name, moment in (("start", since), ("end", until)):
        if not grid.start <= moment <= grid.end:
            raise InvalidQuery(
                f"{name} must lie in the release's period, {format_moment(grid.start, zone)} to "
                f"{format_moment(grid.end, zone)}, not {format_moment(moment, zone)}; move it inside, or leave it out "
                "for the whole period"
            )
    if since >= until:
        raise InvalidQuery(
            f"start must come before end, not {format_moment(since, zone)} and {format_moment(until, zone)}; swap or "
            "widen them"
        )
    low, high = ((moment - grid.start).total_seconds() / grid.slice_seconds for moment in (since, until))
    return since, until, cover(low, high, grid.slices)


def in_utc(name: str, moment: datetime) -> datetime:
    """Return a moment in UTC; `InvalidQuery` where it has no time zone, or an absurd year."""
    if moment.tzinfo is None:
        raise InvalidQuery(
            f"{name} must carry a time zone, not {moment.isoformat(' ')} without one; "
            "write it as 2020-01-08T18:00+00:00, or set tzinfo"
        )
    if not 1900 <= moment.year <= 2200:
        raise InvalidQuery(f"{name} must lie in the years 1900 to 2200, not {moment.year}")
    return moment.astimezone(UTC)
