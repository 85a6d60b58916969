"""The largest hot spots of a release over its whole period: cells, far enough apart to be different places."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from vdr_spark.grid import Box, Grid
from vdr_spark.query import RangeCount
from vdr_spark.release.release import Release
from vdr_spark.report_page.digest import Digest

_APART_M = 600.0
_APART_CELLS = 3  # or so many cells, where those are large


@dataclass(frozen=True)
class Place:
    """A busy cell: where, its pings of the whole period, and when it is busiest."""

    row: int
    column: int
    lat: float
    lon: float
    pings: RangeCount
    busiest: datetime  # start of its busiest slice
    busiest_pings: float


def largest_hotspots(digest: Digest, most: int = 10) -> list[Place]:
    """Return the busiest cells from the largest down, none close to a larger one; only those told from zero."""
    left = digest.period.copy()  # (M, M)
    height, width = digest.release.grid.cell_metres
    rows, columns = (max(_APART_CELLS, round(_APART_M / metres)) for metres in (height, width))
    places: list[Place] = []
    while len(places) < most:
        row, column = (int(at) for at in np.unravel_index(int(left.argmax()), left.shape))
        if not left[row, column] > 0:
            break
        place = _look_at(digest.release, row, column)
        if place.pings.cannot_be_told_from_zero:
            break
        places.append(place)
        near = slice(max(0, row - rows), row + rows + 1), slice(max(0, column - columns), column + columns + 1)
        left[near] = -np.inf
    return places


def _look_at(release: Release, row: int, column: int) -> Place:
    grid = release.grid
    series = release.counts[:, row, column]
    busiest = int(series.argmax())
    return Place(
        row,
        column,
        float(grid.latitudes()[row]),
        float(grid.longitudes()[column]),
        release.range_count(_cell_box(grid, row, column)),
        grid.slice_start(busiest).astimezone(release.zone),
        float(series[busiest]),
    )


def _cell_box(grid: Grid, row: int, column: int) -> Box:
    """Return a cell's box, its edges within those of the grid whatever is rounded."""
    box = grid.box
    return Box(
        box.south + row / grid.cells_per_lat,
        box.west + column / grid.cells_per_lon,
        min(box.north, box.south + (row + 1) / grid.cells_per_lat),
        min(box.east, box.west + (column + 1) / grid.cells_per_lon),
    )
