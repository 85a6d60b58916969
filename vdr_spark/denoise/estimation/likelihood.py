"""What a cell may hold before its noisy count is seen, and how probable the noisy count then is.

Distributions of counts are arrays over n = 0 .. n_max; seen through the noise they are arrays over the places of noisy
counts. Those begin at zero where the noise has no memory, because then every y < 0 says what y = 0 says, and end at
n_max: what lies beyond is far above the noise, and taken for what it is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln

from vdr_spark.arrays import Floats, Integers, Mask, Slices
from vdr_spark.privacy.mechanism import Noise

_TAIL_EXPONENT = -1.5
_LARGEST = 1 << 12  # places of an axis, from zero up
_STEPS = 64  # in the scale of large noise: finer counts make no difference, only longer tables
_LEAST_STEPS = 4  # in the scale of small noise on fractions of pings
_ABOVE = 10.0  # scales of the noise between the largest noisy count and the end of the axis


@dataclass(frozen=True)
class Axis:
    """Counts as places 0 .. n_max in tables: whole pings, or larger steps where the noise is large.

    Where pings have weights, and the noise is small, steps are fractions of a ping, as counts are.
    """

    largest: int  # n_max, in steps
    step: float  # in pings
    noise: Noise

    @classmethod
    def of(cls, noisy: Slices, noise: Noise) -> Axis:
        """Return an axis for noisy counts in any shape."""
        units = noise.units_per_ping
        whole = 1.0 if units == 1 else min(1.0, max(noise.scale / _LEAST_STEPS, 1 / units))
        step = max(whole, noise.scale / _STEPS)
        largest = math.ceil(np.clip((float(noisy.max()) + _ABOVE * noise.scale) / step, 8, _LARGEST))
        return cls(largest, step, noise)

    @property
    def n(self) -> Floats:
        """The counts that a cell may hold, in steps. (n_max + 1,)"""
        return np.arange(self.largest + 1, dtype=np.float64)

    @property
    def below(self) -> int:
        """How many places of noisy counts lie below zero."""
        return math.ceil(self.noise.depth / self.step)

    @property
    def size(self) -> int:
        """The number of places of noisy counts."""
        return self.below + self.largest + 1

    def places(self, noisy: Slices) -> Integers:
        """Return the places of noisy counts, in any shape, rounded."""
        steps = np.rint(np.clip(noisy / np.float32(self.step), -self.below, self.largest))
        places: Integers = steps.astype(np.int64) + self.below
        return places

    def is_beyond(self, noisy: Slices) -> Mask:
        """Return which counts are larger than the last place: so far above the noise that nothing is to be gained."""
        return noisy > self.largest * self.step

    def marginal(self, mass: Floats) -> Floats:
        """Return a distribution of counts seen through the noise, up to a factor. (..., n_max + 1) -> (..., size)

        Any function of n may take the distribution's place: with mass[n] * n the result is the posterior mean's
        numerator.
        """
        nothing_below = [(0, 0)] * (mass.ndim - 1) + [(self.below, 0)]
        return self.noise.convolve(np.pad(mass, nothing_below) if self.below else mass, self.step)


def negative_binomial(n: Floats, mean: float, dispersion: float) -> Floats:
    """Return the probability of every n, where the variance is mean + mean**2 / dispersion."""
    logs = (
        gammaln(n + dispersion)
        - gammaln(dispersion)
        - gammaln(n + 1)
        + dispersion * math.log(dispersion / (dispersion + mean))
        + n * math.log(mean / (dispersion + mean))
    )
    mass: Floats = np.exp(logs - logs.max())  # the largest is 1, however far the mean lies beyond n_max
    mass /= mass.sum()
    return mass


def heavy_tail(n: Floats) -> Floats:
    """Return p(n) ~ (n + 1)**-1.5: spikes that nothing predicts. (n_max + 1,)"""
    mass: Floats = (n + 1) ** _TAIL_EXPONENT
    mass /= mass.sum()
    return mass
