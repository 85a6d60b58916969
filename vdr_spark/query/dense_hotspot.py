"""The paper's nearest hot spot: the closest cell of an absolute density, in space and time, with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.errors import InvalidQuery
from vdr_spark.query.hotspot import Hotspot, cell_of_place, slice_number
from vdr_spark.query.likely_hotspots import LikelyCells, choose_hotspots
from vdr_spark.query.ruler import Ruler
from vdr_spark.query.wording import format_count, format_deviation, format_length, format_moment

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

EXTENT_M = 5000.0  # the paper's: how far one would go


@dataclass(frozen=True)
class DenseHotspot(Hotspot):
    """The cell that is the best answer, however far in time; `threshold` is the density asked for."""

    slices_away: int  # later than the slice asked about; negative: earlier
    distance_cells: float  # in space and time, one slice as one cell
    probability: float | None  # that its true count reaches the density; None: the release has no error bars
    probability_within: float | None  # that any cell as near does

    def sentence(self) -> str:
        likely = (
            ""
            if self.probability is None
            else f", which it reaches with a probability of {100 * self.probability:.0f} %"
        )
        return (
            f"The nearest hot spot is {self.distance_m:,.0f} m away, {_format_slices(self.slices_away)}, at "
            f"{self.lat:.5f}, {self.lon:.5f}: about {format_count(self.count)} pings{format_deviation(self.deviation)} "
            f"in the slice from {format_moment(self.slice_start)}; the density asked for is "
            f"{format_count(self.threshold)}{likely}."
        )


def _format_slices(away: int) -> str:
    if away == 0:
        return "in the same slice"
    return f"{abs(away)} slice{'s' if abs(away) > 1 else ''} {'later' if away > 0 else 'earlier'}"


def nearest_dense_hotspot(
    release: Release, lat: float, lon: float, moment: datetime | int, density: float, extent_m: float = EXTENT_M
) -> DenseHotspot:
    """Find the cell nearest to a place and a moment that holds at least `density` pings, as far as can be told.

    The search goes `extent_m` metres over ground and through all slices; one slice counts as far as one cell. Cells
    are chosen by the probability that their true count reaches the density, not by the released count
    (`likely_hotspots`), so that the cell named may be told with less than that.
    """
    _check(density, extent_m)
    grid, ruler = release.grid, Ruler.of(release.grid)
    place = np.array([slice_number(grid, moment), *cell_of_place(grid, lat, lon)])
    corner, part = _window(place, ruler, extent_m, grid.cells_per_side)
    counts, deviation = release.part(part)
    found = choose_hotspots(counts, deviation, (place - corner)[None], density, ruler, extent_m)
    if not found.found[0]:
        raise InvalidQuery(
            f"density must be one that a cell within {format_length(extent_m)} may reach, not {density:.6g}: the "
            f"largest released count there is {counts.max():.6g}; lower the density or widen the extent"
        )
    at = found.cells[0]
    here = tuple(at)
    t, y, x = (int(index) for index in at + corner)
    return DenseHotspot(
        lat=float(grid.latitudes()[y]),
        lon=float(grid.longitudes()[x]),
        row=y,
        column=x,
        slice=t,
        slice_start=grid.slice_start(t),
        count=float(counts[here]),
        deviation=None if deviation is None else float(deviation[here]),
        distance_m=float(ruler.metres((at + corner)[None], place[None])[0]),
        threshold=density,
        protected=release.protected,
        slices_away=t - int(place[0]),
        distance_cells=float(found.distance[0]),
        probability=None if deviation is None else float(found.probability[0]),
        probability_within=None if deviation is None else float(found.within[0]),
    )


def nearest_dense_hotspots(
    release: Release, places: Integers, density: float, extent_m: float = EXTENT_M
) -> LikelyCells:
    """Find the same for many places at once, each a slice, a row and a column. (Q, 3)

    A thousand take seconds on 576 x 576 x 96 cells, all of which are read.
    """
    _check(density, extent_m)
    if not ((places >= 0) & (places < release.grid.shape)).all():
        raise InvalidQuery(f"places must lie in the grid of {release.grid.shape} slices, rows and columns; move them")
    return choose_hotspots(release.counts, release.deviation, places, density, Ruler.of(release.grid), extent_m)


def _window(place: Integers, ruler: Ruler, extent_m: float, cells: int) -> tuple[Integers, tuple[slice, slice, slice]]:
    """Return the cells that can be reached, and the first of them: nothing else is read."""
    ranges = []
    for index, metres in zip(place[1:], (ruler.height, ruler.width), strict=True):
        far = math.floor(min(extent_m / metres, cells))
        ranges.append(slice(max(int(index) - far, 0), min(int(index) + far + 1, cells)))
    rows, columns = ranges
    return np.array([0, rows.start, columns.start]), (slice(None), rows, columns)


def _check(density: float, extent_m: float) -> None:
    if not (math.isfinite(density) and density >= 1):
        raise InvalidQuery(f"density must be at least one ping in a cell, not {density}; raise it")
    if not extent_m >= 0:
        raise InvalidQuery(f"extent must be a number of metres, not {extent_m}; leave it out for {EXTENT_M:.0f}")
