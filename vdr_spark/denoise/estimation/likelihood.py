"""What a cell may hold before its noisy count is seen, and how probable the noisy count then is.

Distributions of counts are arrays over n = 0 .. n_max. The noise is discrete Laplace, P(y | n) ~ decay**|y - n|
with decay = exp(-1 / scale), so seeing a distribution through the noise is one sweep up and one down. Below zero and
above n_max the factor decay**|y| is common to all n: what follows from y < 0 follows from y = 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter
from scipy.special import gammaln

from vdr_spark.denoise.estimation.risk import Noise

_TAIL_EXPONENT = -1.5
_LARGEST = 1 << 12  # places of an axis; noisy counts beyond are far above the noise, and taken for what they are
_STEPS = 64  # in the scale of large noise: finer counts make no difference, only longer tables
_LEAST_STEPS = 4  # in the scale of small noise on fractions of pings
_ABOVE = 10.0  # scales of the noise between the largest noisy count and the end of the axis

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Axis:
    """Counts as places 0 .. n_max in tables: whole pings, or larger steps where the noise is large.

    Where pings have weights, and the noise is small, steps are fractions of a ping, as counts are.
    """

    largest: int  # n_max, in steps
    step: float  # in pings
    scale: float  # of the noise, in steps

    @classmethod
    def of(cls, noisy: NDArray[np.float32], noise: Noise) -> Axis:
        whole = 1.0 if noise.unit == 1 else min(1.0, max(noise.scale / _LEAST_STEPS, 1 / noise.unit))
        step = max(whole, noise.scale / _STEPS)
        largest = math.ceil(np.clip((float(noisy.max()) + _ABOVE * noise.scale) / step, 8, _LARGEST))
        return cls(largest, step, noise.scale / step)

    @property
    def n(self) -> Array:
        """All places. (n_max + 1,)"""
        return np.arange(self.largest + 1, dtype=np.float64)

    def places(self, noisy: NDArray[np.float32]) -> NDArray[np.int64]:
        """Of noisy counts, in any shape, rounded."""
        return np.rint(np.clip(noisy / np.float32(self.step), 0, self.largest)).astype(np.int64)

    def is_beyond(self, noisy: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Larger than the last place: so far above the noise that nothing is to be gained."""
        return noisy > self.largest * self.step

    def seen(self, mass: Array) -> Array:
        """sum over n of mass[n] * decay**|y - n| at every place y. Along the last axis."""
        decay = math.exp(-1 / self.scale)
        up = lfilter([1.0], [1.0, -decay], mass)
        down = lfilter([1.0], [1.0, -decay], mass[..., ::-1])[..., ::-1]
        both: Array = up + down - mass
        return both


def negative_binomial(n: Array, mean: float, dispersion: float) -> Array:
    """The probability of every n, where the variance is mean + mean**2 / dispersion."""
    logs = (
        gammaln(n + dispersion)
        - gammaln(dispersion)
        - gammaln(n + 1)
        + dispersion * math.log(dispersion / (dispersion + mean))
        + n * math.log(mean / (dispersion + mean))
    )
    mass: Array = np.exp(logs - logs.max())  # the largest is 1, however far the mean lies beyond n_max
    mass /= mass.sum()
    return mass


def heavy_tail(n: Array) -> Array:
    """p(n) ~ (n + 1)**-1.5: spikes that nothing predicts."""
    mass: Array = (n + 1) ** _TAIL_EXPONENT
    mass /= mass.sum()
    return mass
