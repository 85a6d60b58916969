"""Whether noisy counts carry the noise they claim, found out from the noisy counts alone.

Counts are never negative, and discrete Laplace noise forgets: if a cell's count c, c >= 0, plus noise x comes out
negative, then x < -c, and by how much it lies below -c does not depend on c. So -y of all negative cells is geometric,
P(j) = (1 - p) p**(j - 1) with p = exp(-1 / scale), exactly, whatever the people did. Its mean, its shape and the share
of its odd values are tested; so is that no more cells are exactly zero, or negative, than noise on an empty cell
allows: noise on the non-empty cells only would leave the others at zero.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import stats

_BINS = 16
_FEWEST = 100  # negative cells, below which nothing can be said
_SIGMAS = 6.0  # that a right release exceeds once in 500 million audits
_P_VALUE = 1e-9

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """What the check needs to know of some noisy cells; tallies add up."""

    cells: int
    zeros: int
    negative: int
    odd: int  # among the negative
    total: float  # of the negative, without their sign
    bins: Counts  # how many of the negative lie in each stretch of equal probability

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.cells + other.cells,
            self.zeros + other.zeros,
            self.negative + other.negative,
            self.odd + other.odd,
            self.total + other.total,
            self.bins + other.bins,
        )


@dataclass(frozen=True)
class NoiseCheck:
    """Of a claimed scale, in the unit of the stored integers."""

    scale: Fraction

    def tally(self, noisy: Counts) -> Tally:
        below = -noisy[noisy < 0]
        bins = np.bincount(np.searchsorted(self._edges, below), minlength=len(self._edges) + 1)
        odd, total = int((below & 1).sum()), float(below.sum(dtype=np.float64))
        return Tally(noisy.size, int((noisy == 0).sum()), len(below), odd, total, bins)

    @property
    def _log_p(self) -> float:
        return -1 / float(self.scale)

    @property
    def _edges(self) -> Counts:
        """The last values of the stretches: as nearly of equal probability as whole numbers allow."""
        quantiles = np.arange(1, _BINS) / _BINS
        edges: Counts = np.unique(np.maximum(1, np.ceil(np.log1p(-quantiles) / self._log_p)).astype(np.int64))
        return edges

    def found_scale(self, tally: Tally) -> float | None:
        """The scale that the mean of the negative cells tells; None where there are too few."""
        if tally.negative < _FEWEST or tally.total == tally.negative:
            return None
        mean = tally.total / tally.negative  # 1 / (1 - p)
        return -1 / math.log1p(-1 / mean)

    def contradictions(self, tally: Tally) -> Iterator[str]:
        """In words, what the claimed noise cannot have left; nothing where all agrees."""
        p, one_minus_p = math.exp(self._log_p), -math.expm1(self._log_p)
        yield from self._too_many("exactly zero", tally.zeros, tally.cells, one_minus_p / (1 + p))
        yield from self._too_many("negative", tally.negative, tally.cells, p / (1 + p))
        if tally.negative < _FEWEST:
            return
        mean, deviation = 1 / one_minus_p, math.sqrt(p) / one_minus_p
        sigmas = (tally.total / tally.negative - mean) / max(deviation, 1e-300) * math.sqrt(tally.negative)
        if abs(sigmas) > _SIGMAS:
            yield (
                f"negative cells are {tally.total / tally.negative:.6g} below zero on average; noise of the claimed "
                f"scale puts them {mean:.6g} below, and the difference is {sigmas:+.1f} standard errors"
            )
        share = 1 / (1 + p)
        sigmas = (tally.odd - share * tally.negative) / max(math.sqrt(tally.negative * share * (1 - share)), 1e-300)
        if abs(sigmas) > _SIGMAS:
            yield (
                f"{tally.odd / tally.negative:.2%} of the negative cells are odd numbers, not {share:.2%}: "
                "the noise is coarser than the counts"
            )
        if len(self._edges) > 1:
            below = -np.expm1(self._log_p * self._edges.astype(np.float64))  # P(-y <= edge)
            expected = np.diff(below, prepend=0.0, append=1.0) * tally.negative
            if stats.chisquare(tally.bins, expected).pvalue < _P_VALUE:
                yield "the negative cells are not spread as discrete Laplace noise is"

    @staticmethod
    def _too_many(what: str, found: int, cells: int, share: float) -> Iterator[str]:
        if found - share * cells > _SIGMAS * math.sqrt(cells * share * (1 - share)) + 1:
            yield f"{found / cells:.2%} of the cells are {what}; noise on every cell leaves at most {share:.2%}"
