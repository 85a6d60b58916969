"""The paper's nearest hot spot: the closest cell of an absolute density, in space and time, with its probability."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Integers, Slices
from vdr_spark.errors import InvalidQuery
from vdr_spark.query.hotspot import Hotspot, cell_of_place, slice_number
from vdr_spark.query.likely_hotspots import LikelyCells, choose_hotspots
from vdr_spark.query.ruler import Ruler
from vdr_spark.query.wording import format_count, format_deviation, format_length, format_moment
from vdr_spark.sum_errors import deviation_by_chance

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
        return (
            f"The nearest hot spot is {self.distance_m:,.0f} m away, {_format_slices(self.slices_away)}, at "
            f"{self.lat:.5f}, {self.lon:.5f}: about {format_count(self.count)} pings{format_deviation(self.deviation)} "
            f"in the slice from {format_moment(self.slice_start)}; the density asked for is "
            f"{format_count(self.threshold)}{_format_chances(self.probability, self.probability_within)}."
        )


def _format_chances(own: float | None, within: float | None) -> str:
    """Say how likely the cell is a hot spot and, where it is rather not, how likely any is that is as near."""
    if own is None or within is None:
        return ""
    said = f", which it reaches with a probability of {100 * own:.0f} %"
    return said if own >= 0.5 else f"{said}; that some cell as near does has {100 * within:.0f} %"


def _format_slices(away: int) -> str:
    if away == 0:
        return "in the same slice"
    return f"{abs(away)} slice{'s' if abs(away) > 1 else ''} {'later' if away > 0 else 'earlier'}"


def nearest_dense_hotspot(
    release: Release,
    lat: float,
    lon: float,
    moment: datetime | int,
    density: float,
    extent_m: float = EXTENT_M,
    *,
    at_ping: bool = False,
    least_probability: float = 0.0,
) -> DenseHotspot:
    """Find the cell nearest to a place and a moment that holds at least `density` pings, as far as can be told.

    The search goes `extent_m` metres over ground and through all slices; one slice counts as far as one cell. Cells
    are chosen by the probability that their true count reaches the density, not by the released count
    (`likely_hotspots`), so that the cell named may be told with less than that.

    `at_ping` says that somebody who is there then asks, with a phone that sends pings, say: busy cells are asked from
    more often, so that the own cell is likelier to be one. Left out, the place is one on a map.

    The choice misses the distance and the density by least; where hot spots are likely but nobody knows which cells
    they are, it names one of many that are each unlikely. `least_probability` is for somebody who will go there: no
    cell is named that reaches the density with less.
    """
    _check(density, extent_m, least_probability)
    grid, ruler = release.grid, Ruler.of(release.grid)
    place = np.array([slice_number(grid, moment), *cell_of_place(grid, lat, lon)])
    corner, part = _window(place, ruler, extent_m, grid.cells_per_side)
    counts, deviation = release.part(part)
    chance = _by_chance(release, counts, deviation)
    found = choose_hotspots(
        counts, chance, (place - corner)[None], density, ruler, extent_m, at_ping, least_probability
    )
    if not found.found[0]:
        raise InvalidQuery(_describe_none(density, extent_m, least_probability, float(counts.max())))
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
    release: Release,
    places: Integers,
    density: float,
    extent_m: float = EXTENT_M,
    *,
    at_pings: bool = False,
    least_probability: float = 0.0,
) -> LikelyCells:
    """Find the same for many places at once, each a slice, a row and a column. (Q, 3)

    A thousand take seconds on 576 x 576 x 96 cells, all of which are read.
    """
    _check(density, extent_m, least_probability)
    if not ((places >= 0) & (places < release.grid.shape)).all():
        raise InvalidQuery(f"places must lie in the grid of {release.grid.shape} slices, rows and columns; move them")
    chance = _by_chance(release, release.counts, release.deviation)
    ruler = Ruler.of(release.grid)
    return choose_hotspots(release.counts, chance, places, density, ruler, extent_m, at_pings, least_probability)


def _by_chance(release: Release, counts: Slices, deviation: Slices | None) -> Slices | None:
    """Return the error bars of cells by chance, where there are any."""
    errors = release.sum_errors
    if deviation is None or errors is None:
        return deviation
    return deviation_by_chance(deviation, counts, errors.clump_of_cell)


def _describe_none(density: float, extent_m: float, least: float, largest: float) -> str:
    likely = f" with a probability of {least:g}" if least > 0 else ""
    remedy = "lower the density" if least == 0 else "lower the density or least_probability"
    return (
        f"density must be one that a cell within {format_length(extent_m)} may reach{likely}, not {density:.6g}: the "
        f"largest released count there is {largest:.6g}; {remedy} or widen the extent"
    )


def _window(place: Integers, ruler: Ruler, extent_m: float, cells: int) -> tuple[Integers, tuple[slice, slice, slice]]:
    """Return the cells that can be reached, and the first of them: nothing else is read."""
    ranges = []
    for index, metres in zip(place[1:], (ruler.height, ruler.width), strict=True):
        far = math.floor(min(extent_m / metres, cells))
        ranges.append(slice(max(int(index) - far, 0), min(int(index) + far + 1, cells)))
    rows, columns = ranges
    return np.array([0, rows.start, columns.start]), (slice(None), rows, columns)


def _check(density: float, extent_m: float, least_probability: float) -> None:
    if not (math.isfinite(density) and density >= 1):
        raise InvalidQuery(f"density must be at least one ping in a cell, not {density}; raise it")
    if not extent_m >= 0:
        raise InvalidQuery(f"extent must be a number of metres, not {extent_m}; leave it out for {EXTENT_M:.0f}")
    if not 0 <= least_probability < 1:
        raise InvalidQuery(f"least_probability must be at least 0 and below 1, not {least_probability}; leave it out")
