"""Whether noisy counts carry the discrete Gaussian noise they claim, told from the noisy counts alone.

Gaussian noise remembers: how far below zero a cell comes out depends on its count, so that negative cells have no
distribution that is known beforehand. But whatever integers c >= 0 the counts are, y = c + x has to obey four rules,
each of which is tested exactly, at a probability of error that is a bound and not an approximation.

1. *The middle.* The distribution of x is symmetric and falls from zero on both sides. So no stretch of so many integers
   holds y with a larger probability than the stretch around zero holds x: not the zero itself, not the stretch of one
   sigma on either side. More cells there than binomial chance allows: noise is missing, or smaller than claimed.
2. *The depth.* As c >= 0, P(y <= -j) <= P(x <= -j). More cells so low: the noise is larger than claimed, or of a
   shape with heavier tails.
3. *Parity.* P(x odd) is 1/2 within exp(-(pi sigma)**2 / 2) or so, and P(y odd) too, for every c. Another share of odd
   numbers among all cells: the noise is coarser than the counts.
4. *The curvature.* P(y = j) exp(j**2 / (2 sigma**2)) is, for every c, an exponential of j times a constant, so as a
   mean over all cells it is log-convex: P(j)**2 <= P(j - d) P(j + d) exp(d**2 / sigma**2). By Cauchy's inequality the
   same holds for stretches: three of length d side by side, with expected numbers A, B and C of cells, have
   B**2 <= A C exp(d**2 / sigma**2), wherever people are. Noise of a smaller sigma falls away from zero too fast and
   breaks it. The numbers are sums of independent trials of different probabilities, for whose means Chernoff's bounds
   give limits: n - sqrt(2 n L) and n + L + sqrt(L**2 + 2 n L), either wrong with probability exp(-L) at most.

What this can tell: noise that is missing somewhere, larger, coarser or of heavier tails; noise that is a fifth smaller,
if most of the country is empty (20,000 cells are enough) or holds counts that hardly vary (200,000).
What it cannot tell: a smaller sigma where counts vary as much as the noise in all places, because there y is spread
just as the right noise on steadier counts would be. For Laplace noise, which forgets, there is no such place.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers
from vdr_spark.privacy.noise_check import FEWEST, P_VALUE, Tally, find_too_many

_LOWEST, _HIGHEST = -4, 2  # stretches, between which they are counted one by one
_CONTINUOUS = 1 << 12  # sigma, from which on sums of probabilities are integrals within 10**-8
_SURE = math.log(3 * (_HIGHEST - _LOWEST - 2) / P_VALUE)  # of three limits for each three stretches side by side


@dataclass(frozen=True)
class GaussianCheck:
    """The check of discrete Gaussian noise of a claimed sigma**2."""

    sigma_squared: Fraction

    caveat: ClassVar[str] = " (people make it look larger)"

    def tally(self, noisy: Integers) -> Tally:
        """Return what there is to know of some noisy cells."""
        stretches = np.clip(noisy // self._length, _LOWEST - 1, _HIGHEST) - (_LOWEST - 1)
        bins = np.bincount(stretches, minlength=_HIGHEST - _LOWEST + 2)
        below = noisy[noisy < 0]
        odd, total = int((noisy & 1).sum()), -float(below.sum(dtype=np.float64))
        return Tally(noisy.size, int((noisy == 0).sum()), len(below), odd, total, bins)

    @property
    def _sigma(self) -> float:
        return math.sqrt(self.sigma_squared)

    @property
    def _length(self) -> int:
        """The length d of a stretch: about sigma."""
        return max(1, round(self._sigma))

    def estimate_scale(self, tally: Tally) -> float | None:
        """Return the sigma with which the three stretches below zero would be filled as they are, were there no people.

        People make it larger than it is. None where the third stretch is as good as empty.
        """
        third, second, first = tally.bins[-_LOWEST - 2 : -_LOWEST + 1].tolist()
        if third < FEWEST:
            return None
        low, high, curvature = self._sigma / 8, self._sigma * 8, second**2 / (third * max(first, 1))
        while high / low > 1 + 1e-9:
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _curvature(middle, self._length) > curvature else (low, middle)
        return low

    def contradictions(self, tally: Tally) -> Iterator[str]:
        """Say in words what the claimed noise cannot have left; nothing where all agrees."""
        d, cells, below = self._length, tally.cells, np.cumsum(tally.bins)
        middle = int(tally.bins[-_LOWEST : -_LOWEST + 2].sum())
        yield from find_too_many("exactly zero", tally.zeros, cells, self._tails[0] - self._tails[1])
        yield from find_too_many(f"from {-d} to {d - 1}", middle, cells, 1 - self._tails[2] - self._tails[3])
        yield from find_too_many("negative", tally.negative, cells, self._tails[1])
        for stretch in range(_LOWEST, 0):
            share = _tail(self._sigma, 1 - stretch * d)
            yield from find_too_many(f"below {stretch * d}", int(below[stretch - _LOWEST]), cells, share)
        yield from self._find_coarse(tally)
        yield from self._find_curved(tally)

    @cached_property
    def _tails(self) -> tuple[float, float, float, float]:
        """P(x >= j) for j = 0 and 1, and for the first integers outside of the middle stretches, d and d + 1."""
        zero, one, after, beyond = (_tail(self._sigma, j) for j in (0, 1, self._length, self._length + 1))
        return zero, one, after, beyond

    def _find_coarse(self, tally: Tally) -> Iterator[str]:
        from scipy import stats  # here: workers, which only tally, may have none

        unfair = _parity(self._sigma) / 2
        many = stats.binom.sf(tally.odd - 1, tally.cells, 0.5 + unfair)
        few = stats.binom.cdf(tally.odd, tally.cells, 0.5 - unfair)
        if min(many, few) < P_VALUE / 2:
            yield f"{tally.odd / tally.cells:.2%} of the cells are odd numbers: the noise is coarser than the counts"

    def _find_curved(self, tally: Tally) -> Iterator[str]:
        """Look at all three stretches side by side; one contradiction says it."""
        counted = tally.bins[1:-1].astype(np.float64)
        fewest = counted - np.sqrt(2 * counted * _SURE)
        most = counted + _SURE + np.sqrt(_SURE**2 + 2 * counted * _SURE)
        allowed = np.sqrt(most[:-2] * most[2:]) * math.exp(self._length**2 / float(2 * self.sigma_squared))
        if (fewest[1:-1] > allowed).any():
            yield (
                "counts fall away from zero faster than noise of the claimed scale lets them, wherever people are: "
                "the noise is smaller than claimed"
            )


def _tail(sigma: float, j: int) -> float:
    """Return P(x >= j), j >= 0."""
    if sigma >= _CONTINUOUS:
        return math.erfc((j - 0.5) / (sigma * math.sqrt(2))) / 2
    weights = _weights(sigma)
    return float(weights[j:].sum() / (2 * weights.sum() - 1))


def _weights(sigma: float) -> Floats:
    """Return exp(-x**2 / (2 sigma**2)) for all x >= 0 that count."""
    weights: Floats = np.exp(-np.square(np.arange(math.ceil(40 * sigma) + 2) / sigma) / 2)
    return weights


def _parity(sigma: float) -> float:
    """Return how far apart the probabilities of even and of odd noise are."""
    if sigma >= _CONTINUOUS:
        return 0.0
    weights = _weights(sigma)
    even, odd = 2 * weights[::2].sum() - 1, 2 * weights[1::2].sum()
    return float(abs(even - odd) / (even + odd))


def _curvature(sigma: float, d: int) -> float:
    """Return B**2 / (A C) for the three stretches below zero; it falls as sigma grows."""
    tails = [_tail(sigma, 1 + stretch * d) for stretch in range(4)]
    first, second, third = (near - far for near, far in pairwise(tails))
    return second**2 / max(third * first, np.finfo(float).tiny)
