"""Whether noisy counts carry the noise they claim, told from the noisy counts alone.

*Discrete Laplace noise.* Counts are never negative, and the noise forgets: if a cell's count c, c >= 0, plus noise x
comes out negative, then x < -c, and by how much it lies below -c does not depend on c. So -y of all negative cells is
geometric, P(j) = (1 - p) p**(j - 1) with p = exp(-1 / scale), exactly, whatever the people did. Its mean, its shape and
the share of its odd values are tested; so is that no more cells are exactly zero, or negative, than noise on an empty
cell allows: noise on the non-empty cells only would leave the others at zero.

*Discrete Gaussian noise* does not forget, and has a module of its own: `gaussian_check`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Protocol

import numpy as np

from vdr_spark.arrays import Floats, Integers

_BINS = 16
FEWEST = 100  # negative cells, below which nothing can be said
P_VALUE = 1e-9  # a right release fails a test once in a billion audits
_FEWEST_PER_BIN = 10  # expected; stretches with fewer are joined
_CONTINUOUS = 1e-6  # 1 - p, below which a sum of geometric numbers is as good as gamma distributed


@dataclass(frozen=True)
class Tally:
    """What a check needs to know of some noisy cells; tallies add up."""

    cells: int
    zeros: int
    negative: int
    odd: int  # among those that the check looks at: the negative ones, or all
    total: float  # of the negative, without their sign
    bins: Integers  # how many of those that the check looks at lie in each stretch of its own

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.cells + other.cells,
            self.zeros + other.zeros,
            self.negative + other.negative,
            self.odd + other.odd,
            self.total + other.total,
            self.bins + other.bins,
        )


class NoiseCheck(Protocol):
    """A test of a claimed noise, in the units of the stored integers. Must be picklable: tasks tally."""

    @property
    def caveat(self) -> str:
        """What is to be said of the scale that the cells show; nothing where people do not change it."""
        ...

    def tally(self, noisy: Integers) -> Tally:
        """Return what there is to know of some noisy cells."""
        ...

    def estimate_scale(self, tally: Tally) -> float | None:
        """Return the scale of the noise that the cells show; None where there are too few of them."""
        ...

    def contradictions(self, tally: Tally) -> Iterator[str]:
        """Say in words what the claimed noise cannot have left; nothing where all agrees."""
        ...


@dataclass(frozen=True)
class LaplaceCheck:
    """The check of discrete Laplace noise of a claimed scale."""

    scale: Fraction

    caveat: ClassVar[str] = ""

    def tally(self, noisy: Integers) -> Tally:
        """Return what there is to know of some noisy cells."""
        below = -noisy[noisy < 0]
        bins = np.bincount(np.searchsorted(self._edges, below), minlength=len(self._edges) + 1)
        odd, total = int((below & 1).sum()), float(below.sum(dtype=np.float64))
        return Tally(noisy.size, int((noisy == 0).sum()), len(below), odd, total, bins)

    @property
    def _log_p(self) -> float:
        return -1 / float(self.scale)

    @property
    def _edges(self) -> Integers:
        """The last values of the stretches: as nearly of equal probability as whole numbers allow."""
        quantiles = np.arange(1, _BINS) / _BINS
        edges: Integers = np.unique(np.maximum(1, np.ceil(np.log1p(-quantiles) / self._log_p)).astype(np.int64))
        return edges

    def estimate_scale(self, tally: Tally) -> float | None:
        """Return the scale that the mean of the negative cells shows; None where there are too few."""
        if tally.negative < FEWEST or tally.total == tally.negative:
            return None
        mean = tally.total / tally.negative  # 1 / (1 - p)
        return -1 / math.log1p(-1 / mean)

    def contradictions(self, tally: Tally) -> Iterator[str]:
        """Say in words what the claimed noise cannot have left; nothing where all agrees."""
        from scipy import stats  # here: workers, which only tally, may have none

        p, one_minus_p = math.exp(self._log_p), -math.expm1(self._log_p)
        yield from find_too_many("exactly zero", tally.zeros, tally.cells, one_minus_p / (1 + p))
        yield from find_too_many("negative", tally.negative, tally.cells, p / (1 + p))
        if tally.negative < FEWEST:
            return
        if _two_sided(*_tails_of_sum(tally, one_minus_p)) < P_VALUE:
            yield (
                f"negative cells are {tally.total / tally.negative:.6g} below zero on average; noise of the claimed "
                f"scale puts them {1 / one_minus_p:.6g} below"
            )
        odd = stats.binom(tally.negative, share := 1 / (1 + p))
        if _two_sided(odd.cdf(tally.odd), odd.sf(tally.odd - 1)) < P_VALUE:
            yield (
                f"{tally.odd / tally.negative:.2%} of the negative cells are odd numbers, not {share:.2%}: "
                "the noise is coarser than the counts"
            )
        below = -np.expm1(self._log_p * self._edges.astype(np.float64))  # P(-y <= edge)
        shares: Floats = np.diff(np.concatenate([[0.0], below, [1.0]]))
        observed, expected = _join_sparse(tally.bins, shares * tally.negative)
        if len(observed) > 1 and stats.chisquare(observed, expected).pvalue < P_VALUE:
            yield "the negative cells are not spread as discrete Laplace noise is"


def find_too_many(what: str, observed: int, cells: int, share: float) -> Iterator[str]:
    """Say so where more cells are such than if each were with probability `share`, the most that noise allows."""
    from scipy import stats

    if stats.binom.sf(observed - 1, cells, share) < P_VALUE:
        yield f"{observed / cells:.2%} of the cells are {what}; noise on every cell leaves at most {share:.2%}"


def _two_sided(lower: float, upper: float) -> float:
    return min(1.0, 2 * min(lower, upper))


def _tails_of_sum(tally: Tally, one_minus_p: float) -> tuple[float, float]:
    """Return the probabilities of a sum of so many geometric numbers as small, and as large, as was observed."""
    from scipy import stats

    if one_minus_p < _CONTINUOUS:
        smooth = stats.gamma(tally.negative)
        return float(smooth.cdf(tally.total * one_minus_p)), float(smooth.sf(tally.total * one_minus_p))
    exact, failures = stats.nbinom(tally.negative, one_minus_p), tally.total - tally.negative
    return float(exact.cdf(failures)), float(exact.sf(failures - 1))


def _join_sparse(observed: Integers, expected: Floats) -> tuple[list[int], list[float]]:
    """Join adjacent stretches until each has enough: chi-square is no chi-square in nearly empty ones."""
    joined: list[tuple[int, float]] = []
    for number, mean in zip(observed.tolist(), expected.tolist(), strict=True):
        if joined and joined[-1][1] < _FEWEST_PER_BIN:
            number, mean = number + joined[-1][0], mean + joined.pop()[1]
        joined.append((number, mean))
    if len(joined) > 1 and joined[-1][1] < _FEWEST_PER_BIN:
        last = joined.pop()
        joined[-1] = joined[-1][0] + last[0], joined[-1][1] + last[1]
    return [number for number, _ in joined], [mean for _, mean in joined]
