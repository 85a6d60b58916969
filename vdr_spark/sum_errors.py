"""How far sums of released cells may be off: what the errors of cells do not tell.

The error of a cell is one thing, that of a sum another: a denoiser that expects too much of a place does so in all its
cells and slices, and such errors add up. So a release carries, for squares of several sizes, in one slice and in all,
how far their sums are off. With q the deviation of the noise that a box would have without denoising, S the released
count, a the *spread* and c the *clump* at the box's size,

    variance  =  q^2 u / (1 + u)  +  c S,    u = a S / q,

and never less than what the cells' own variances add up to.

The first term is judged from the noisy tensor alone: where little is counted the sum is known far better than by the
noisy counts, where much is, about as well as by them. The second is what the noisy tensor cannot tell. Of a person with
more than k pings k are counted, and scaling by N / n gives what is missing back to all places alike, not to where that
person goes. The pings missing of one person in one place are missing together, in clumps: see `clump_of_bounding`.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from vdr_spark.arrays import Floats

_CLUMPS_PER_EXCESS = 4.0
_CLUMPS_IN_TIME = 0.8  # a clump shrinks with this power of the share of the slices: people come again
_NONE = 1e-300  # as good as no clump, where logarithms are taken


def clump_of_bounding(k: int, kept: float, total: float) -> float:
    """Return how many pings bounding misses together in one place over all slices, given k, n and N.

    A person who reaches the bound has on average at least k (N / n - 1) pings more than are counted of them: there are
    at most n / k such people, and N - n pings are missing. Few people have most of them, and each goes to few places.
    In generated cities, whose people have homes and work places, 2.5 to 9 times that number was missed together, of
    taxis cut into people 0.4 to 3 times. This is an assumption about people, which no noisy tensor can check: where all
    of them have about as many pings, or roam, error bars are too wide by it.
    """
    return min(total, _CLUMPS_PER_EXCESS * k * max(0.0, total / max(kept, 1.0) - 1))


@dataclass(frozen=True)
class Spread:
    """What was found at one size: squares of `side` cells, over so many slices."""

    side: int
    slices: int
    spread: float
    clump: float = 0.0  # released pings that bounding misses or adds together


@dataclass(frozen=True)
class SumErrors:
    """The errors of sums of one release."""

    noise_deviation: float  # of one cell without denoising, in released pings
    spreads: tuple[Spread, ...]  # of all pairs of some sides and some numbers of slices

    def scaled(self, factor: float) -> SumErrors:
        """Return the errors of sums that are `factor` times as large."""
        spreads = tuple(replace(of, clump=of.clump * factor) for of in self.spreads)
        return SumErrors(self.noise_deviation * factor, spreads)

    def bounded(self, clump: float) -> SumErrors:
        """Return the errors of sums of people's pings that were bounded, of which `clump` are missed together."""
        slices = max(of.slices for of in self.spreads)
        spreads = (replace(of, clump=clump * (of.slices / slices) ** _CLUMPS_IN_TIME) for of in self.spreads)
        return SumErrors(self.noise_deviation, tuple(spreads))

    @property
    def clump_of_cell(self) -> float:
        """The clump of one cell in one slice, in released pings."""
        return min(self.spreads, key=lambda of: (of.slices, of.side)).clump

    def variance(self, cells: Floats, slices: Floats, counts: Floats, own: Floats) -> Floats:
        """Return the variance of sums, element by element, all of one shape.

        Of `cells` cells each, over `slices` slices, with these released counts; `own` adds up the cells' own variances.
        """
        cells, slices = np.maximum(cells, 1e-9), np.maximum(slices, 1e-9)
        noise = self.noise_deviation * np.sqrt(cells)
        sides = np.sqrt(cells / slices)
        ratio = self._at("spread", sides, slices) * np.maximum(counts, 0) / np.maximum(noise, 1e-300)
        clumps = self._at("clump", sides, slices) * np.maximum(counts, 0) if self.clump_of_cell else 0.0
        found: Floats = np.maximum(own, noise**2 * ratio / (1 + ratio) + clumps)
        return found

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
        known = sorted((of.side, getattr(of, name)) for of in self.spreads if of.slices == slices)
        x, y = (np.log(np.maximum([pair[place] for pair in known], _NONE)) for place in (0, 1))
        logs: Floats = np.interp(np.log(sides), x, y)
        return logs

    def as_notes(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> SumErrors:
        """Return it from what `as_notes` gave."""
        return cls(notes["noise_deviation"], tuple(Spread(**spread) for spread in notes["spreads"]))
