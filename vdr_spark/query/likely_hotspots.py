"""Nearest hot spots by what a release knows and does not know: the choice that is expected to be least wrong.

A released count is an expectation, drawn towards what is usual. A cell of 45 pings may be told as 25 +- 15: a threshold
on the count passes by, and names one farther away. So every cell is given the probability p that its true count
reaches the density. From a place outwards the nearest hot spot is then at distance d_j with the probability
w_j = p_j (1 - p_1) ... (1 - p_(j-1)), and naming cell j is expected to be wrong by

    sum_i w_i |d_j - d_i|  +  E max(density - count of j, 0) / PINGS_PER_CELL

cells: by how far the distance is missed, and by the pings that are missing in the cell that is named. The least is
chosen. To name none is a choice too, as far away as the search looked. Cells' errors are taken as independent; what is
alike in many cells, such as the error of the whole, is small in each.

What is likely of a cell is less than what its error bar must cover: people ask where pings are, and error bars allow
for that (`sum_errors`). Here it would count for every cell around. So it is taken off (`deviation_by_chance`), and put
back for the place's own cell alone, where somebody says to ask at a ping (`Posterior.at_a_ping`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask, Slices
from vdr_spark.query.candidates import Candidates, judge_cells
from vdr_spark.query.nearest import NOWHERE, NearestCells
from vdr_spark.query.posterior import Posterior
from vdr_spark.query.ruler import DIGITS, Ball, Ruler

if TYPE_CHECKING:
    from scipy.spatial import cKDTree

PINGS_PER_CELL = 25.0
"""How many pings missing in the cell named are as bad as a distance missed by one cell. It balances the two errors;
chosen on generated cities (docs/hotspots.md)."""

_SURE = 1e-3  # of no hot spot so far: what lies beyond changes nothing
_RADIUS = 7.0  # cells, around each place; where that is not enough, the candidates of the whole release are searched
_FIRST_CANDIDATES = 256  # four times as many where that is not enough
_NUMBERS_AT_ONCE = 1_000_000  # cells around places, which bounds memory


@dataclass
class LikelyCells(NearestCells):
    """The cells chosen, each with the probability that it reaches the density, and that one as near does. (Q,) each

    Both are 0 where none was chosen.
    """

    probability: Floats
    within: Floats


def choose_hotspots(
    counts: Slices,
    deviation: Slices | None,
    places: Integers,
    density: float,
    ruler: Ruler,
    extent_m: float,
    at_pings: bool = False,
    least: float = 0.0,
) -> LikelyCells:
    """Choose the nearest hot spot for each place (Q, 3) from released counts and deviations, (T, M, M) each.

    A place is a slice, a row and a column; `extent_m` bounds the distance over ground, time is not bounded. Deviations
    are those by chance (`deviation_by_chance`). `at_pings` says that a place was taken because a ping is there, as the
    paper's are: its own cell is then likelier to be busy than the release alone would say. No cell is named that
    reaches the density with less than the probability `least`.
    """
    own = tuple(places.T)
    bars = None if deviation is None else deviation[own]
    if at_pings and bars is not None:
        posterior = Posterior.of(counts[own], bars).at_a_ping()
        own_figures = posterior.reaches(density), posterior.shortfall(density) / density
    else:
        own_figures = judge_cells(counts[own], bars, density)
    return _Search(counts, deviation, density, ruler, extent_m, least).choose(places, *own_figures)


class _Search:
    """A release that is searched for one density."""

    def __init__(
        self,
        counts: Slices,
        deviation: Slices | None,
        density: float,
        ruler: Ruler,
        extent_m: float,
        least: float,
    ) -> None:
        self.counts, self.deviation, self.density, self.least = counts, deviation, density, least
        self.ruler, self.extent_m = ruler, extent_m
        self.ball = Ball.of(ruler, _RADIUS, extent_m, len(counts))

    def choose(self, places: Integers, own_probability: Floats, own_shortfall: Floats) -> LikelyCells:
        """Choose for each place; `own` are the figures of the places' own cells. (Q, 3), (Q,), (Q,)"""
        none, zeros = np.full(places.shape, NOWHERE), np.zeros(len(places))
        chosen = LikelyCells(none, np.full(len(places), math.inf), zeros, zeros.copy())
        number = len(self.ball.distance)
        look: Callable[[Integers], _Around] = self._look_into_ball
        asking = np.arange(len(places))
        while len(asking):
            left, at_once = [], max(_NUMBERS_AT_ONCE // number, 1)
            for part in np.split(asking, range(at_once, len(asking), at_once)):
                around = look(places[part]).with_own(own_probability[part], own_shortfall[part])
                around.write_choices(part, chosen, self.least)
                left.append(part[~around.sure(self.least)])
            asking, number = np.concatenate(left), max(4 * number, _FIRST_CANDIDATES)
            look = partial(self._look_at_candidates, number=number)
        return chosen

    def _look_into_ball(self, places: Integers) -> _Around:
        """Return the figures of all cells of a ball around each place."""
        cells = places[:, None] + self.ball.offsets  # (Q, K, 3)
        inside = ((cells >= 0) & (cells < self.counts.shape)).all(axis=-1)
        there = tuple(cells[inside].T)
        bars = None if self.deviation is None else self.deviation[there]
        probability, shortfall = np.zeros(inside.shape), np.full(inside.shape, math.inf)
        probability[inside], shortfall[inside] = judge_cells(self.counts[there], bars, self.density)
        distance = np.broadcast_to(self.ball.distance, inside.shape)
        reach, complete = self.ball.reach, bool(self.ball.distance[-1] >= self.ball.reach)
        return _Around(cells, distance, probability, shortfall, self.density, reach, complete)

    def _look_at_candidates(self, places: Integers, number: int) -> _Around:
        """Return the figures of the candidates nearest to each place, its own cell in front."""
        candidates, tree = self._tree
        number = min(number, len(candidates.cells))
        if number:
            distance, which = tree.query(self.ruler.positions(places), k=np.arange(1, number + 1))
        else:
            distance, which = np.zeros((len(places), 0)), np.zeros((len(places), 0), dtype=np.int64)
        cells = candidates.cells[which]  # (Q, K, 3)
        metres = self.ruler.metres(cells.reshape(-1, 3), np.repeat(places, number, axis=0)).reshape(which.shape)
        valid = (distance > 0) & (metres <= self.extent_m)
        return _Around(
            np.concatenate((places[:, None], cells), axis=1),
            np.round(np.column_stack((np.zeros(len(places)), distance)), DIGITS),
            np.column_stack((np.zeros(len(places)), np.where(valid, candidates.probability[which], 0.0))),
            np.column_stack((np.ones(len(places)), np.where(valid, candidates.shortfall[which], math.inf))),
            self.density,
            self.ball.reach,
            number == len(candidates.cells),
        )

    @cached_property
    def _tree(self) -> tuple[Candidates, cKDTree]:
        from scipy.spatial import cKDTree  # slow to import: other questions do without

        candidates = Candidates.of(self.counts, self.deviation, self.density)
        # Half the time of a balanced tree, and cells lie evenly enough.
        return candidates, cKDTree(self.ruler.positions(candidates.cells), balanced_tree=False, compact_nodes=False)


@dataclass(frozen=True)
class _Around:
    """The cells around places, their own first, then by distance: (Q, K, 3), and figures of each. (Q, K)"""

    cells: Integers
    distance: Floats
    probability: Floats
    shortfall: Floats  # as a share of the density; infinite where no answer is
    density: float  # pings
    reach: float  # cells: as far as the search looks
    complete: bool  # there are no other cells

    def with_own(self, probability: Floats, shortfall: Floats) -> _Around:
        """Return the same with these figures of the places' own cells. (Q,) each"""
        return replace(
            self,
            probability=np.column_stack((probability, self.probability[:, 1:])),
            shortfall=np.column_stack((shortfall, self.shortfall[:, 1:])),
        )

    @property
    def none_upto(self) -> Floats:
        """The probability that no cell up to each of them is a hot spot. (Q, K)"""
        found: Floats = np.cumprod(1 - self.probability, axis=1, dtype=np.float64)
        return found

    def sure(self, least: float) -> Mask:
        """Return for which places nothing that lies farther away matters, where an answer has this probability. (Q,)"""
        named = (self.probability >= least).any(axis=1)
        found: Mask = (named & (self.none_upto[:, -1] <= _SURE)) | self.complete
        return found

    def expected_errors(self, least: float) -> Floats:
        """Return what naming each of them, or in the last column none, is expected to cost, in cells. (Q, K + 1)

        Those that reach the density with less than the probability `least` are not to be named, at any cost.
        """
        none = self.none_upto
        beyond = none[:, -1:]
        nearest = np.column_stack((1 - none[:, :1], none[:, :-1] - none[:, 1:], beyond))  # the weights w
        distance = np.column_stack((self.distance, np.full(len(none), max(self.reach, self.distance.max()))))
        missing = np.where(self.probability >= least, self.shortfall, math.inf) * self.density
        shortfall = np.column_stack((missing, (1 - beyond) * self.density))
        # sum_i w_i |d_j - d_i| for sorted d, by cumulated sums.
        below, moment = np.cumsum(nearest, axis=1), np.cumsum(nearest * distance, axis=1)
        missed = distance * (2 * below - 1) + moment[:, -1:] - 2 * moment
        found: Floats = missed + shortfall / PINGS_PER_CELL
        return found

    def write_choices(self, numbers: Integers, chosen: LikelyCells, least: float) -> None:
        """Write the least costly choices of the places that are sure, where one is named, to their numbers. (Q,)"""
        best = np.argmin(self.expected_errors(least), axis=1)
        rows = np.flatnonzero(self.sure(least) & (best < self.distance.shape[1]))
        at, numbers = best[rows], numbers[rows]
        far = self.distance[rows, at]
        chosen.cells[numbers], chosen.distance[numbers] = self.cells[rows, at], far
        chosen.probability[numbers] = self.probability[rows, at]
        misses = np.where(self.distance[rows] <= far[:, None], 1 - self.probability[rows], 1.0)
        chosen.within[numbers] = 1 - misses.prod(axis=1)
