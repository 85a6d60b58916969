"""Exact sampling of one digit of a geometric number, from random words, by table look-up.

A geometric number G with P(G >= i) = q**i has, written in base B, *independent* digits, because
q**(d0 + d1 B + ...) is a product. Digit number l is a truncated geometric number with ratio q**(B**l), and the
topmost digit, which has no bound, is geometric itself. `Digit` samples one of them.

Why the result is exact and not merely precise. Let U be uniform on [0, 1) and s_i = P(D >= i), so that
D = #{i : U < s_i}. A random word w of 63 bits says that U lies in [w, w + 1) / 2**63. Let c_i = floor(2**63 s_i).
If w < c_i then U < s_i, if w > c_i then U >= s_i, whatever bits of U follow. Only when w = c_i is the answer open:
then 64 more bits of U are sampled and compared with 64 more digits of s_i, again and again until they differ. No
probability is ever rounded: the floors are computed in integer interval arithmetic, from an enclosure of
exp(-rate), with ever more guard bits until both ends of the interval have the same floor. They always do in the
end, because s_i is irrational (e to a rational power is transcendental).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.privacy.randomness import RandomWords
from vdr_spark.privacy.threshold_table import WORD_BITS, ThresholdTable

GUARD_BITS = 64


@dataclass(frozen=True)
class Digit:
    """D with P(D >= i) = q**i, cut off at `size` where `truncated`; q = exp(-rate).

    A digit that is not truncated answers `size` for "at least `size`": the caller adds a fresh sample to it,
    which is right because a geometric number has no memory.
    """

    rate: Fraction
    size: int
    truncated: bool
    _thresholds: ThresholdTable = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        floors = _floors(self.rate, self.size, self.truncated, WORD_BITS)
        object.__setattr__(self, "_thresholds", ThresholdTable(np.array(floors[::-1], dtype=np.int64)))

    def sample(self, words: Integers, more: RandomWords) -> Integers:
        """Return one digit for each 63-bit random word; `more` is asked for bits where a word does not decide."""
        reached = self._thresholds.count_reached(words)
        digits = len(self._thresholds.ascending) - reached
        for position in self._thresholds.find_close(words, reached, width=1):
            digits[position] = self._decide(int(words[position]), more)
        return digits

    def _decide(self, word: int, more: RandomWords) -> int:
        """Return the digit of U = 0.word..., sampling bits of U until no threshold can still be met."""
        bits, u = WORD_BITS, word
        while True:
            floors = _floors(self.rate, self.size, self.truncated, bits)
            if u not in floors:
                return sum(u < floor for floor in floors)
            bits, u = bits + 64, (u << 64) | int(more(1)[0])


def _floors(rate: Fraction, size: int, truncated: bool, bits: int) -> list[int]:
    """Return floor(2**bits P(D >= i)) for the i from 1 that the digit can reach, largest first, exact."""
    precision = bits + GUARD_BITS
    while True:
        lower, upper = _enclosures(rate, size, truncated, precision)
        drop = precision - bits
        floors = [low >> drop for low in lower]
        if floors == [high >> drop for high in upper]:
            return floors
        precision *= 2


def _enclosures(rate: Fraction, size: int, truncated: bool, precision: int) -> tuple[list[int], list[int]]:
    """Return integers below and above 2**precision P(D >= i)."""
    one = 1 << precision
    low_q, high_q = exp_enclosure(rate, precision)
    low, high = [one], [one]
    for _ in range(size):
        low.append(low[-1] * low_q >> precision)
        high.append(min(one, (high[-1] * high_q >> precision) + 1))
    if not truncated:
        return low[1:], high[1:]
    # P(D >= i) = (q**i - q**size) / (1 - q**size), for i below size; decreasing in q**size.
    last_low, last_high = low[size], high[size]
    lower = [max(0, (x - last_high) * one // (one - last_low)) for x in low[1:size]]
    upper = [min(one, (x - last_low) * one // max(1, one - last_high) + 1) for x in high[1:size]]
    return lower, upper


def exp_enclosure(rate: Fraction, precision: int) -> tuple[int, int]:
    """Return integers below and above 2**precision exp(-rate).

    With x = rate / 2**halvings <= 1/2 the terms of exp(-x) = 1 - x + x**2/2 - ... fall and alternate, so two
    successive partial sums, here exact fractions, enclose it; squaring leads back to exp(-rate).
    """
    halvings = max(0, rate.numerator.bit_length() - rate.denominator.bit_length() + 2)
    work = precision + 2 * halvings + GUARD_BITS
    x = rate / 2**halvings
    power, partial, n = Fraction(1), Fraction(1), 0
    before = partial
    while power.numerator << work > power.denominator:  # power = x**n / n!
        n += 1
        power *= x / n
        before, partial = partial, partial + (power if n % 2 == 0 else -power)
    below, above = sorted((before, partial))
    low = (below.numerator << work) // below.denominator
    high = (above.numerator << work) // above.denominator + 1
    for _ in range(halvings):
        low, high = low * low >> work, (high * high >> work) + 1
    drop = work - precision
    return low >> drop, min(1 << precision, (high >> drop) + 1)
