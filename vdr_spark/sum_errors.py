"""How far sums of released cells may be off: what the errors of cells do not tell.

The error of a cell is one thing, that of a sum another: a denoiser that expects too much of a place does so in all its
cells and slices, and such errors add up. So a release carries, for squares of several sizes, in one slice and in all,
how far their sums are off, judged from the noisy tensor alone. With q the deviation of the noise that a box would have
without denoising, S the released count, a the *spread* and c the *ceiling* at the box's size,

    variance  =  c q^2 u / (1 + u),   u = a S / q,

and never less than what the cells' own variances add up to. Where little is counted the sum is known far better than by
the noisy counts; where much is, it is known about as well as by them, and c is 1 or a little more.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vdr_spark.arrays import Floats


@dataclass(frozen=True)
class Spread:
    """What was found at one size: squares of `side` cells, over so many slices."""

    side: int
    slices: int
    spread: float
    ceiling: float = 1.0  # of the variance, relative to that of the noise


@dataclass(frozen=True)
class SumErrors:
    """The errors of sums of one release."""

    noise_deviation: float  # of one cell without denoising, in released pings
    spreads: tuple[Spread, ...]  # of all pairs of some sides and some numbers of slices

    def scaled(self, factor: float) -> SumErrors:
        """Return the errors of sums that are `factor` times as large."""
        return SumErrors(self.noise_deviation * factor, self.spreads)

    def variance(self, cells: Floats, slices: Floats, counts: Floats, own: Floats) -> Floats:
        """Return the variance of sums, element by element, all of one shape.

        Of `cells` cells each, over `slices` slices, with these released counts; `own` adds up the cells' own variances.
        """
        cells, slices = np.maximum(cells, 1e-9), np.maximum(slices, 1e-9)
        noise = self.noise_deviation * np.sqrt(cells)
        sides = np.sqrt(cells / slices)
        ratio = self._at("spread", sides, slices) * np.maximum(counts, 0) / np.maximum(noise, 1e-300)
        found: Floats = np.maximum(own, self._at("ceiling", sides, slices) * noise**2 * ratio / (1 + ratio))
        return found

    def deviation(self, cells: float, slices: float, count: float, own: float) -> float:
        """Return one standard deviation of one sum."""
        parts = (np.array([value], dtype=np.float64) for value in (cells, slices, count, own))
        return math.sqrt(float(self.variance(*parts)[0]))

    def _at(self, name: str, sides: Floats, slices: Floats) -> Floats:
        """Return spread or ceiling at any size: between those that are known, by straight lines in logarithms."""
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
        x, y = (np.log([pair[place] for pair in known]) for place in (0, 1))
        logs: Floats = np.interp(np.log(sides), x, y)
        return logs

    def as_notes(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_notes(cls, notes: dict[str, Any]) -> SumErrors:
        """Return it from what `as_notes` gave."""
        return cls(notes["noise_deviation"], tuple(Spread(**spread) for spread in notes["spreads"]))
