"""Discrete Laplace noise, exact and fast.

X takes the integer x with probability (1 - p) / (1 + p) * p**|x|, p = exp(-1 / scale), `scale` a fraction. Added to
integer counts of L1 sensitivity k, with scale = k / epsilon, it gives pure epsilon differential privacy, with no
floating-point number in between (Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020).

X is a random sign times a geometric number G, the pair (minus, 0) drawn anew so that zero is not counted twice:
P(X = x | accepted) is proportional to p**|x| for every integer x. G is put together from digits, each sampled
exactly from a table (`exact_digits`), so X is exact for exact random bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from vdr_spark.privacy.exact_digits import Digit
from vdr_spark.privacy.randomness import Words

_BASE = 1 << 14  # entries of a digit's table: 128 KiB, which a core's second-level cache holds
_NEGLIGIBLE = 20  # a smaller table, where going past it has a probability of exp(-20) already
_CHUNK = 1 << 20  # samples drawn at once


@dataclass(frozen=True)
class DiscreteLaplace:
    """Discrete Laplace noise of a given scale. Picklable: tasks get the tables, they do not compute them."""

    scale: Fraction
    _digits: tuple[Digit, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError(f"scale must be positive, not {self.scale}")
        digits, rate = [], 1 / self.scale
        while rate * _BASE < 1:  # the number is usually longer than one digit
            digits.append(Digit(rate, _BASE, truncated=True))
            rate *= _BASE
        size = min(_BASE, math.ceil(_NEGLIGIBLE / rate))
        object.__setattr__(self, "_digits", (*digits, Digit(rate, size, truncated=False)))

    @property
    def variance(self) -> float:
        """2 p / (1 - p)**2."""
        rate = float(1 / self.scale)
        return 1 / (2 * math.sinh(rate / 2) ** 2) if rate < 1400 else 0.0

    def sample(self, size: int, words: Words) -> NDArray[np.int64]:
        """`size` independent samples."""
        samples = np.empty(size, dtype=np.int64)
        for begin in range(0, size, _CHUNK):
            samples[begin : begin + _CHUNK] = self._sample(min(_CHUNK, size - begin), words)
        return samples

    def _sample(self, size: int, words: Words) -> NDArray[np.int64]:
        samples = np.empty(size, dtype=np.int64)
        open_positions = np.arange(size)
        while open_positions.size:
            negative, magnitude = self._signed(open_positions.size, words)
            samples[open_positions] = np.where(negative, -magnitude, magnitude)
            open_positions = open_positions[negative & (magnitude == 0)]
        return samples

    def _signed(self, size: int, words: Words) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Independent signs and geometric magnitudes."""
        first = words(size)
        negative = (first & np.uint64(1)).astype(bool)
        *lower, top = self._digits
        magnitude = top.draw((first >> np.uint64(1)).astype(np.int64), words)
        beyond = np.flatnonzero(magnitude == top.size)
        while beyond.size:  # no memory: what lies beyond the table is distributed like the whole
            extra = top.draw(_word63(words, beyond.size), words)
            magnitude[beyond] += extra
            beyond = beyond[extra == top.size]
        for digit in reversed(lower):
            magnitude = magnitude * digit.size + digit.draw(_word63(words, size), words)
        return negative, magnitude


def _word63(words: Words, size: int) -> NDArray[np.int64]:
    return (words(size) >> np.uint64(1)).astype(np.int64)
