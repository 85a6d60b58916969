"""How far sums of released cells may be off: what the errors of cells do not tell.

The error of a cell is one thing, that of a sum another: a denoiser that expects too much of a place does so in all its
cells and slices, and such errors add up. So a release carries, for squares of several sizes, in one slice and in all,
how far their sums are off. With q the deviation of the noise that a box would have without denoising, S the released
count, s its share of N, a the *spread* and c the *clump* at the box's size, t the deviation of the sum of all cells,

    variance  =  (1 - s)^2 v  +  s^2 (t^2 - v)  +  (1 - s) w,
    v = q^2 u / (1 + u),    u = a S / q,    w = c S (1 + c / (S + c / 50)),

and v + w is never less than what the cells' own variances add up to.

v is judged from the noisy tensor alone: where little is counted the sum is known far better than by the noisy counts,
where much is, about as well as by them. Then everything is scaled so that it sums to N. Errors elsewhere come in by
that: a box with a third of the pings is off by a third of what the total was off by, and the whole is off by nothing.
Where N itself is known up to a deviation, s^2 times its square comes on top.

w is what the noisy tensor cannot tell. Of a person with more than k pings k are counted, and scaling by
N / n gives what is missing back to all places alike, not to where that person goes: their pings in one place are
missing together, in clumps (`missing_together`). Were the clumps of one size c and came by chance, a count of S would
vary by c S. But people ask where pings are, and at a ping there is one clump more than by chance: c^2, as soon as S is
more than the fiftieth part of a clump.

That is what an error bar must cover, and not what is likely of a cell: where nobody asks because of a ping, the clump
more is not there, and clumps of one cell are smaller than the largest among places. `deviation_by_chance` is a cell's
deviation for questions that need the likely, such as which cells reach a density.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np

from vdr_spark.arrays import Floats, Image, Slices

_Array = TypeVar("_Array", Floats, Slices)

Users = Literal["people", "vehicles"]
"""Who is bounded: people, who come back to few places, or vehicles, which roam."""

# How many times the mean excess one user's pings are missed together, in squares of so many cells over all slices.
_CLUMPS: dict[Users, tuple[tuple[float, float], ...]] = {
    "people": ((1, 5.0), (4, 16.0), (64, 32.0)),
    "vehicles": ((1, 0.5), (64, 4.0)),
}
_CLUMPS_IN_TIME = 0.8  # a clump shrinks with this power of the share of the slices: people come again
AT_A_PING = 50.0  # a place with one part in so many of a clump is asked about because there is one
CLUMP_BY_CHANCE = 0.4
"""The part of a clump by which counts of single cells vary by chance; chosen on generated cities (docs/hotspots.md)."""
AS_GOOD_AS_NONE = 1e-30  # as good as no clump, where logarithms are taken


def missing_together(k: int, kept: float, total: float, users: Users, side: float) -> float:
    """Return how many pings bounding misses together in a square of `side` cells over all slices, given k, n and N.

    A user who reaches the bound has on average at least k (N / n - 1) pings more than are counted of them: there are
    at most n / k such users, and N - n pings are missing. Few have most of them. Of all pings the share 1 - n / N is
    missing, and the others come as they are, so a count varies by that share of it. (Where norms are bounded, k is the
    norm: counts whose norm is s add up to at least s, so there are at most n / s users who reach it.) How often a user
    comes back to a place is an assumption about users which no noisy tensor can check: the factors above were chosen by
    generated cities, whose people have homes and work places, and by taxis whose traces were cut into users.
    """
    share = min(1.0, max(kept, 1.0) / total)
    excess = k * (1 / share - 1) * (1 - share)
    sides, factors = np.log(_CLUMPS[users]).T
    return min(total, excess * math.exp(np.interp(math.log(side), sides, factors)))


def widen_by_clumps(clump: _Array | float, counts: _Array) -> _Array:
    """Return by how much variances of counts grow because bounding misses so many pings together."""
    positive = np.maximum(counts, 0)
    widened: _Array = clump * positive * (1 + clump / (positive + clump / AT_A_PING + AS_GOOD_AS_NONE))
    return widened


def deviation_by_chance(deviation: Slices, counts: Slices, clump: float) -> Slices:
    """Return error bars of cells without what they allow for being asked about because of a ping. (T, M, M) each

    What `widen_by_clumps` added to the variance is taken off, and the part of it that comes by chance put back.
    """
    narrow = (_narrow_to_chance(of, here, clump) for of, here in zip(deviation, counts, strict=True))
    return deviation if clump == 0 else np.stack(list(narrow))


def _narrow_to_chance(deviation: Image, counts: Image, clump: float) -> Image:
    added: Image = widen_by_clumps(clump, counts)
    by_chance = CLUMP_BY_CHANCE * clump * np.maximum(counts, 0)
    narrow: Image = np.sqrt(np.maximum(deviation**2 - added, 0) + by_chance)
    return narrow


@dataclass(frozen=True)
class Spread:
    """What was found at one size: squares of `side` cells, over so many slices."""

    side: int
    slices: int
    spread: float
    clump: float = 0.0  # released pings that bounding misses or adds together


@dataclass(frozen=True)
class Total:
    """What all cells of a release add up to, by construction."""

    pings: float
    deviation: float = 0.0  # how well that number itself is known; 0 where it is declared


@dataclass(frozen=True)
class SumErrors:
    """The errors of sums of one release."""

    noise_deviation: float  # of one cell without denoising, in released pings
    spreads: tuple[Spread, ...]  # of all pairs of some sides and some numbers of slices
    sum_deviation: float = 0.0  # of all cells together, before they were scaled to sum to the total
    total: Total | None = None  # None: not scaled to any

    def scaled(self, factor: float) -> SumErrors:
        """Return the errors of sums that are `factor` times as large."""
        spreads = tuple(replace(of, clump=of.clump * factor) for of in self.spreads)
        return SumErrors(self.noise_deviation * factor, spreads, self.sum_deviation * factor, self.total)

    def bounded(self, k: int, kept: float, total: float, users: Users) -> SumErrors:
        """Return the errors of sums of pings of which at most k were kept of each user, or counts of a norm of k."""
        slices = max(of.slices for of in self.spreads)
        spreads = tuple(
            replace(
                of,
                clump=missing_together(k, kept, total, users, of.side) * (of.slices / slices) ** _CLUMPS_IN_TIME,
            )
            for of in self.spreads
        )
        return replace(self, spreads=spreads)

    @property
    def clump_of_cell(self) -> float:
        """The clump of one cell in one slice, in released pings."""
        return min(self.spreads, key=lambda of: (of.slices, of.side)).clump

    def variance(self, cells: Floats, slices: Floats, counts: Floats, own: Floats) -> Floats:
        """Return the variance of sums, element by element, all of one shape.

        Of `cells` cells each, over `slices` slices, with these released counts; `own` adds up the cells' own variances.
        """
        cells, slices = np.maximum(cells, 1e-9), np.maximum(slices, 1e-9)
        noise, sides = self.noise_deviation * np.sqrt(cells), np.sqrt(cells / slices)
        ratio = self._at("spread", sides, slices) * np.maximum(counts, 0) / np.maximum(noise, 1e-300)
        clumps = self._clumps(sides, slices, counts)
        found: Floats = np.maximum(noise**2 * ratio / (1 + ratio), own - clumps)
        if self.total is None:
            return found + clumps
        share = np.clip(counts / max(self.total.pings, 1.0), 0, 1)
        elsewhere = np.maximum(self.sum_deviation**2 - found, 0) + self.total.deviation**2
        return (1 - share) ** 2 * found + share**2 * elsewhere + (1 - share) * clumps

    def _clumps(self, sides: Floats, slices: Floats, counts: Floats) -> Floats:
        if not self.clump_of_cell:
            return np.zeros_like(counts)
        return widen_by_clumps(self._at("clump", sides, slices), counts)

    def deviation(self, cells: float, slices: float, count: float, own: float) -> float:
        """Return one standard deviation of one sum."""
        parts = (np.array([value], dtype=np.float64) for value in (cells, slices, count, own))
        return math.sqrt(float(self.variance(*parts)[0]))

    def _at(self, name: str, sides: Floats, slices: Floats) -> Floats:
        """Return spread or clump at any size: between those that are known, by straight lines in logarithms."""
        known_slices = sorted({of.slices for of in self.spreads})
        rows = np.stack([self._along_sides(name, sides, number) for number in known_slices])  # (numbers, ...)
        if len(known_slices) == 1:
            along: Floats = np.exp(rows[0])
            return along
        first, last = (math.log(number) for number in (known_slices[0], known_slices[-1]))
        weight = np.clip((np.log(slices) - first) / (last - first), 0, 1)
        between: Floats = np.exp((1 - weight) * rows[0] + weight * rows[-1])
        return between

    def _along_sides(self, name: str, sides: Floats, slices: int) -> Floats:
        x, y = zip(*self.knots(name, slices), strict=True)
        logs: Floats = np.interp(np.log(sides), x, y)
        return logs

    def knots(self, name: str, slices: int) -> list[tuple[float, float]]:
        """Return the logarithms of the sides that are known over so many slices, and of `spread` or `clump` there."""
        known = sorted((of.side, getattr(of, name)) for of in self.spreads if of.slices == slices)
        return [(math.log(side), math.log(max(value, AS_GOOD_AS_NONE))) for side, value in known]

    def as_notes(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> SumErrors:
        """Return it from what `as_notes` gave."""
        spreads, total = tuple(Spread(**spread) for spread in notes["spreads"]), notes["total"]
        return cls(notes["noise_deviation"], spreads, notes["sum_deviation"], None if total is None else Total(**total))
