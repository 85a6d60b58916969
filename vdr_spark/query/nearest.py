"""The nearest cells, in space and time, whose count reaches a threshold: an exact search for many places at once.

Slices are gone through one by one, from the middle of those asked about outwards, each with a tree of the cells that
reach the threshold. So no more than a slice is held beside the tensor, and a limit on the distance over ground, which
does not bound that in time, is a limit in the tree.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Integers
from vdr_spark.query.ruler import DIGITS, Ruler

NOWHERE = -1  # slice, row and column of a place from which nothing was found


@dataclass
class NearestCells:
    """For each place the cell found and its distance in cells; `NOWHERE` and infinity where there is none."""

    cells: Integers  # (Q, 3): slice, row, column
    distance: Floats  # (Q,)

    @property
    def found(self) -> NDArray[np.bool_]:
        """Which places have an answer. (Q,)"""
        return np.isfinite(self.distance)


def find_nearest(
    tensor: NDArray[Any], places: Integers, least: float, ruler: Ruler, extent_m: float = math.inf
) -> NearestCells:
    """Find the cell of (T, M, M) nearest to each place (Q, 3) that holds at least `least`, at any time.

    `extent_m` bounds the distance over ground. Of equally near cells the one that holds most is taken.
    """
    best = NearestCells(np.full(places.shape, NOWHERE), np.full(len(places), math.inf))
    holds = np.full(len(places), -math.inf)
    middle = np.median(places[:, 0])
    for number in np.argsort(np.abs(np.arange(len(tensor)) - middle), kind="stable"):
        # What is farther away in time alone than the best so far need not be looked at.
        asking = np.flatnonzero(np.abs(number - places[:, 0]) <= best.distance)
        if len(asking):
            _search_slice(tensor[number], int(number), places, asking, least, ruler, extent_m, best, holds)
    return best


def _search_slice(
    layer: NDArray[Any],
    number: int,
    places: Integers,
    asking: Integers,
    least: float,
    ruler: Ruler,
    extent_m: float,
    best: NearestCells,
    holds: Floats,
) -> None:
    """Improve what the asking places have found so far by the cells of one slice."""
    from scipy.spatial import cKDTree  # slow to import: other questions do without

    rows, columns = np.nonzero(layer >= least)
    if not len(rows):
        return
    hot = np.column_stack((np.full(len(rows), number), rows, columns))
    # Half the time of a balanced tree, and cells lie evenly enough.
    tree = cKDTree(ruler.positions(hot)[:, 1:], balanced_tree=False, compact_nodes=False)
    points = ruler.positions(places[asking])[:, 1:]
    flat, _ = tree.query(points, distance_upper_bound=(extent_m + 1e-3) / ruler.side)
    distance = np.round(np.hypot(flat, number - places[asking, 0]), DIGITS)
    better = np.flatnonzero(np.isfinite(flat) & (distance <= best.distance[asking]))
    equally_near = tree.query_ball_point(points[better], flat[better] + 10.0**-DIGITS)
    for place, far, ties in zip(asking[better], distance[better], equally_near, strict=True):
        chosen = hot[max(ties, key=lambda at: layer[rows[at], columns[at]])]
        held = float(layer[chosen[1], chosen[2]])
        if far < best.distance[place] or held > holds[place]:
            best.cells[place], best.distance[place], holds[place] = chosen, far, held
