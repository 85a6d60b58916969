"""Exact sampling of half a discrete Gaussian, zero and up, from random words, by table look-up.

H takes the integer i >= 0 with probability exp(-i**2 / (2 v)) / S_0, where S_i is the sum of exp(-j**2 / (2 v)) over
all j >= i, and v, any positive fraction, is the square of sigma.

Why the result is exact and not merely precise. Let U be uniform on [0, 1) and s_i = P(H >= i) = S_i / S_0, so that
H = #{i >= 1 : U < s_i}. A random word w of 63 bits says that U lies in [w, w + 1) / 2**63. Integer interval arithmetic
encloses 2**63 s_i between integers c_i and at most c_i + 2. If w < c_i then U < s_i, if w >= c_i + 2 then U >= s_i,
whatever bits of U follow. Only in between is the answer open: then 64 more bits of U are sampled, and s_i is enclosed
64 bits more closely, again and again until U lies on one side. That ends with probability one, because bits of U are
independent of s_i, be it rational or not. No probability is ever rounded: what is not yet known is never guessed.

The sums are endless and are enclosed all the same. Each term is its predecessor times a power of q = exp(-1 / (2 v)),

    exp(-(j + 1)**2 / (2 v))  =  exp(-j**2 / (2 v)) * q**(2 j + 1),

rounded down in one sequence and up in the other, from an enclosure of q. The factors fall, so that from a term t with
factor r on all terms together are at most t / (1 - r). Tables end where s_i is below 2**-63; words that lie so low are
among the undecided ones, and are decided with as many further terms as they need: no tail is cut off.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import accumulate

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.privacy.exact_digits import GUARD_BITS, exp_enclosure
from vdr_spark.privacy.randomness import RandomWords
from vdr_spark.privacy.threshold_table import WORD_BITS, ThresholdTable

_WIDTH = 2  # of an enclosure: rounded outwards at either end


@dataclass(frozen=True)
class HalfGaussian:
    """H with P(H = i) proportional to exp(-i**2 / (2 sigma_squared)) for i >= 0; its table has 9 sigma entries."""

    sigma_squared: Fraction
    _thresholds: ThresholdTable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lower, _ = _enclose_tails(self.sigma_squared, WORD_BITS)
        object.__setattr__(self, "_thresholds", ThresholdTable(np.array(lower[::-1], dtype=np.int64)))

    def sample(self, words: Integers, more: RandomWords) -> Integers:
        """Return one number for each 63-bit random word; `more` is asked for bits where a word does not decide."""
        reached = self._thresholds.count_reached(words)
        numbers = len(self._thresholds.ascending) - reached
        for position in self._thresholds.find_close(words, reached, _WIDTH):
            numbers[position] = self._decide(int(words[position]), more)
        return numbers

    def _decide(self, word: int, more: RandomWords) -> int:
        """Return the number of U = 0.word..., sampling bits of U until it lies on one side of every threshold."""
        bits, u = WORD_BITS, word
        while True:
            lower, upper = _enclose_tails(self.sigma_squared, bits)
            surely, possibly = sum(u < low for low in lower), sum(u < high for high in upper)
            if surely == possibly:
                return surely
            bits, u = bits + 64, (u << 64) | int(more(1)[0])


def _enclose_tails(sigma_squared: Fraction, bits: int) -> tuple[list[int], list[int]]:
    """Return integers not above and not below 2**bits P(H >= i), i from 1 to the first whose lower one is 0.

    They are `_WIDTH` apart at most. Thresholds further on lie below the last, so a U that is surely not below the last
    is not below them; one that may be below it is not decided yet.
    """
    precision = bits + GUARD_BITS
    while True:
        low_sums, high_sums = _enclose_sums(sigma_squared, precision)
        lower = [(low << bits) // high_sums[0] for low in low_sums[1:]]
        upper = [-((-high << bits) // low_sums[0]) for high in high_sums[1:]]
        if all(high - low <= _WIDTH for low, high in zip(lower, upper, strict=True)):
            end = lower.index(0) + 1
            return lower[:end], upper[:end]
        precision *= 2


def _enclose_sums(sigma_squared: Fraction, precision: int) -> tuple[list[int], list[int]]:
    """Return integers not above and not below 2**precision S_i, for i from 0 to where the lower one is 0."""
    one = 1 << precision
    low_factor, high_factor = exp_enclosure(1 / (2 * sigma_squared), precision)
    low_square, high_square = low_factor**2 >> precision, (high_factor**2 >> precision) + 1
    low, high, low_terms, high_terms = one, one, [], []
    while low:
        low_terms.append(low)
        high_terms.append(high)
        low, high = low * low_factor >> precision, (high * high_factor >> precision) + 1
        low_factor, high_factor = low_factor * low_square >> precision, (high_factor * high_square >> precision) + 1
    rest = (high << precision) // max(1, one - high_factor) + 1
    low_sums = list(accumulate(reversed(low_terms), initial=0))
    high_sums = list(accumulate(reversed(high_terms), initial=rest))
    return low_sums[::-1], high_sums[::-1]
