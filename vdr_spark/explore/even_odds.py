"""The nearest cell that holds a density with at least even odds: what people look for beside the best guess.

The nearest hot spot is the answer that is expected to be least wrong (`query.likely_hotspots`). Where many cells may
hold the density, and none of them is likely to, that is a cell near by with a small probability of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers
from vdr_spark.query.candidates import judge_cells
from vdr_spark.query.dense_hotspot import EXTENT_M
from vdr_spark.query.hotspot import cell_of_place
from vdr_spark.query.ruler import DIGITS, Ruler
from vdr_spark.release.release import Release

EVEN = 0.5


@dataclass(frozen=True)
class LikelyCell:
    """A cell, what is released of it, and how far away it is. `slices_away` is negative where it is earlier."""

    slice: int
    row: int
    column: int
    count: float
    deviation: float | None
    probability: float  # that it holds the density
    distance_m: float
    slices_away: int


def find_even_odds(
    release: Release, lat: float, lon: float, number: int, density: float, extent_m: float = EXTENT_M
) -> LikelyCell | None:
    """Find the cell nearest in space and time that holds at least `density` pings with at least even odds.

    Distances are those of `Release.nearest_dense_hotspot`: one slice as far as one cell, `extent_m` metres over
    ground at most. Of equally near cells the likeliest is taken. None: there is no such cell.
    """
    place = np.array([number, *cell_of_place(release.grid, lat, lon)])
    ruler = Ruler.of(release.grid)
    rows, columns = (
        slice(max(int(at) - far, 0), int(at) + far + 1)
        for at, far in zip(place[1:], (int(extent_m / side) for side in (ruler.height, ruler.width)), strict=True)
    )
    counts, deviation = release.part((slice(None), rows, columns))
    # A gamma's median lies below its mean: with even odds it reaches no more than its mean.
    able = np.nonzero(counts > density - 0.5)
    bars = None if deviation is None else deviation[able]
    probability, _ = judge_cells(counts[able], bars, density)
    cells: Integers = np.column_stack(able) + np.array([0, rows.start, columns.start])
    metres = ruler.metres(cells, place[None])
    likely = np.flatnonzero((probability >= EVEN) & (metres <= extent_m))
    if not len(likely):
        return None
    best = likely[np.lexsort((-probability[likely], _in_cells(cells[likely], place, ruler)))[0]]
    t, row, column = (int(index) for index in cells[best])
    return LikelyCell(
        slice=t,
        row=row,
        column=column,
        count=float(counts[able][best]),
        deviation=None if bars is None else float(bars[best]),
        probability=float(probability[best]),
        distance_m=float(metres[best]),
        slices_away=t - number,
    )


def _in_cells(cells: Integers, place: Integers, ruler: Ruler) -> Floats:
    """Return the distances of cells (n, 3) from a place, one slice as one cell. (n,)"""
    found: Floats = np.round(np.sqrt(np.square(ruler.positions(cells - place)).sum(axis=1)), DIGITS)
    return found
