"""Discrete Laplace noise, exact and fast.

X takes the integer x with probability (1 - p) / (1 + p) * p**|x|, p = exp(-1 / scale), `scale` a fraction. Added to
integer counts of L1 sensitivity k, with scale = k / epsilon, it gives pure epsilon differential privacy, with no
floating-point number in between (Ghosh, Roughgarden, Sundararajan 2009; Canonne, Kamath, Steinke 2020).

X is a random sign times a geometric number G, the pair (minus, 0) sampled anew so that zero is not counted twice:
P(X = x | accepted) is proportional to p**|x| for every integer x. G is put together from digits, each sampled
exactly from a table (`exact_digits`), so X is exact for exact random bits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask
from vdr_spark.privacy.exact_digits import Digit
from vdr_spark.privacy.randomness import RandomWords, split_signs, with_signs

if TYPE_CHECKING:
    from vdr_spark.privacy.noise_check import LaplaceCheck

_BASE = 1 << 14  # entries of a digit's table: 128 KiB, which a core's second-level cache holds
_NEGLIGIBLE = 20  # a smaller table, where going past it has a probability of exp(-20) already
_CHUNK = 1 << 16  # samples made at once: half a megabyte, so that what one step leaves the next finds in the cache


@dataclass(frozen=True)
class DiscreteLaplace:
    """Discrete Laplace noise of a given scale, in integer units."""

    name: ClassVar[str] = "discrete_laplace"
    depth: ClassVar[float] = 0.0  # noise without memory: see `convolve`

    scale: Fraction

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError(f"scale must be positive, not {self.scale}")

    @classmethod
    def calibrate(cls, sensitivity: int, epsilon: Fraction) -> DiscreteLaplace:
        """Return the noise that makes counts of this L1 sensitivity epsilon-differentially private."""
        return cls(sensitivity / epsilon)

    def __getstate__(self) -> dict[str, Any]:
        """Take the sampler's tables along: tasks get them, they do not compute them."""
        return {"scale": self.scale, "_digits": self._digits}

    @cached_property
    def _digits(self) -> tuple[Digit, ...]:
        """The digits of the magnitude, lowest first. Their tables take a while, and only sampling needs them."""
        digits, rate = [], 1 / self.scale
        while rate * _BASE < 1:  # the number is usually longer than one digit
            digits.append(Digit(rate, _BASE, truncated=True))
            rate *= _BASE
        size = min(_BASE, math.ceil(_NEGLIGIBLE / rate))
        return (*digits, Digit(rate, size, truncated=False))

    @property
    def _log_p(self) -> float:
        return -1 / float(self.scale)

    @property
    def variance(self) -> float:
        """2 p / (1 - p)**2, with 1 - p by `expm1`: no digit is lost at scales of 10**9 units."""
        return 2 * math.exp(self._log_p) / math.expm1(self._log_p) ** 2

    @property
    def perturbation_weight(self) -> float:
        """(1 + p) / (1 - p). With m = |X| for a further sample X of the noise,

            E n g(y)  =  (1 + p) / (1 - p) / 2 * E [g(y + m) - g(y - m)].

        The transform of P is (1 - p)^2 / (1 - 2 p cos w + p^2). Its logarithmic derivative is that of a difference of
        the values on both sides, so

            E n g(y)  =  p / (1 - p)^2 * E [G(y + 1) - G(y - 1)],    G(y) = E g(y + X),

        and summation by parts gives the first formula.
        """
        return -(1 + math.exp(self._log_p)) / math.expm1(self._log_p)

    @property
    def perturbation_variance(self) -> float:
        """The variance of the noise: perturbations are samples of it, without their sign."""
        return self.variance

    def perturbations(self, shape: tuple[int, ...], random: np.random.Generator) -> Integers:
        """Return |X| for samples X of the noise, as a difference of two geometric numbers; not for protection."""
        one_minus_p = -math.expm1(self._log_p)
        magnitudes: Integers = np.abs(random.geometric(one_minus_p, shape) - random.geometric(one_minus_p, shape))
        return magnitudes

    def convolve(self, mass: Floats, step: float) -> Floats:
        """Return sum over n of mass[n] * p**|y - n| at every place y, places `step` units apart, along the last axis.

        One sweep up and one down. For y <= 0 the factor p**|y| is common to all n >= 0: what follows from a negative
        noisy count follows from zero, and `depth` is 0.
        """
        from scipy.signal import lfilter  # workers, which only sample, do not wait for it

        decay = math.exp(-1 / (float(self.scale) / step))
        up = lfilter([1.0], [1.0, -decay], mass)
        down = lfilter([1.0], [1.0, -decay], mass[..., ::-1])[..., ::-1]
        both: Floats = up + down - mass
        return both

    def noise_check(self) -> LaplaceCheck:
        """Return the check of noisy counts against this noise."""
        from vdr_spark.privacy.noise_check import LaplaceCheck  # and SciPy's statistics

        return LaplaceCheck(self.scale)

    def sample(self, size: int, random_words: RandomWords) -> Integers:
        """Return `size` independent samples. (size,)"""
        samples = np.empty(size, dtype=np.int64)
        for begin in range(0, size, _CHUNK):
            samples[begin : begin + _CHUNK] = self._sample(min(_CHUNK, size - begin), random_words)
        return samples

    def _sample(self, size: int, random_words: RandomWords) -> Integers:
        negative, magnitude = self._sample_signed(size, random_words)
        samples = with_signs(negative, magnitude)
        again = np.flatnonzero(negative & (samples == 0))
        if again.size:
            samples[again] = self._sample(again.size, random_words)
        return samples

    def _sample_signed(self, size: int, random_words: RandomWords) -> tuple[Mask, Integers]:
        """Return independent signs and geometric magnitudes. (size,), (size,)"""
        negative, words = split_signs(random_words(size))
        *lower, top = self._digits
        magnitude = top.sample(words, random_words)
        beyond = np.flatnonzero(magnitude == top.size)
        while beyond.size:  # no memory: what lies beyond the table is distributed like the whole
            extra = top.sample(split_signs(random_words(beyond.size))[1], random_words)
            magnitude[beyond] += extra
            beyond = beyond[extra == top.size]
        for digit in reversed(lower):
            magnitude = magnitude * digit.size + digit.sample(split_signs(random_words(size))[1], random_words)
        return negative, magnitude
