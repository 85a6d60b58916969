"""Discrete Gaussian noise, exact and fast.

X takes the integer x with probability proportional to exp(-x**2 / (2 sigma**2)), sigma**2 any positive fraction. Added
to integer counts of L2 sensitivity s, with sigma**2 = s**2 / (2 rho), it gives rho zero-concentrated differential
privacy, with no floating-point number in between (Canonne, Kamath, Steinke 2020, theorem 4). It gives pure epsilon
for no epsilon.

X is a random sign times a magnitude, the pair (minus, 0) sampled anew so that zero is not counted twice: if magnitudes
i >= 0 come in proportion to exp(-i**2 / (2 sigma**2)), then so does every integer x, accepted, with |x| for i. Up to a
sigma of 512 the magnitude is sampled exactly from one table (`half_gaussian`). Beyond, the table gives the number of a
block of 2**shift integers, and an exact rejection (`gaussian_thinning`) leads from blocks to integers. So X is exact
for exact random bits, whatever sigma is: tables stay small, no tail is cut off, and no probability is rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers
from vdr_spark.privacy.gaussian_steps import GaussianSteps
from vdr_spark.privacy.gaussian_thinning import Thinning
from vdr_spark.privacy.half_gaussian import HalfGaussian
from vdr_spark.privacy.randomness import RandomWords, split_signs, with_signs

if TYPE_CHECKING:
    from vdr_spark.privacy.gaussian_check import GaussianCheck

_LARGEST = Fraction(2) ** 112  # sigma**2, so that 32 sigma fit into 64 bits
_CHUNK = 1 << 16  # samples made at once: half a megabyte, so that what a step leaves is cached for the next
_DEPTH = 8.0  # sigmas below zero, where one noisy cell in 10**15 comes to lie
_REACH = 20.0  # sigmas; further away noise has a probability of exp(-200), and no prior of ours falls as fast
_CONTINUOUS = 4  # sigma**2, from which on the variance is sigma**2 to the last digit


@dataclass(frozen=True)
class DiscreteGaussian:
    """Discrete Gaussian noise of a given sigma**2, in integer units squared."""

    name: ClassVar[str] = "discrete_gaussian"

    sigma_squared: Fraction

    def __post_init__(self) -> None:
        if not 0 < self.sigma_squared <= _LARGEST:
            raise ValueError(f"sigma_squared must be positive and at most 2**112, not {self.sigma_squared}")

    @classmethod
    def calibrate_rho(cls, l2_sensitivity: Fraction | int, rho: Fraction) -> DiscreteGaussian:
        """Return the noise that makes counts of this L2 sensitivity rho-zCDP: sigma**2 = sensitivity**2 / (2 rho)."""
        if rho <= 0:
            raise ValueError(f"rho must be positive, not {rho}")
        return cls(Fraction(l2_sensitivity) ** 2 / (2 * rho))

    def __getstate__(self) -> dict[str, Any]:
        """Take the sampler's table along: tasks get it, they do not compute it."""
        return {"sigma_squared": self.sigma_squared, "_blocks": self._blocks}

    @cached_property
    def _thinning(self) -> Thinning:
        return Thinning.of(self.sigma_squared)

    @cached_property
    def _blocks(self) -> HalfGaussian:
        """The numbers of blocks, of one integer each where the shift is 0. Only sampling needs it: it takes a while."""
        return HalfGaussian(self.sigma_squared / 4**self._thinning.shift)

    @property
    def scale(self) -> float:
        """Sigma; its square is exact, and is what the sampler uses."""
        return math.sqrt(self.sigma_squared)

    @property
    def depth(self) -> float:
        """Noise with a memory: the further below zero a noisy count lies, the less probably the cell holds anything."""
        return _DEPTH * self.scale

    @property
    def variance(self) -> float:
        """The variance of X itself, a little less than sigma**2 for a small sigma.

        By Poisson's summation formula it is sigma**2 (1 - 8 pi**2 sigma**2 exp(-2 pi**2 sigma**2) + ...): the
        difference is 2 in 10**7 for sigma = 1 and 10**-31 for sigma = 2, from where on it is not computed.
        """
        if self.sigma_squared >= _CONTINUOUS:
            return float(self.sigma_squared)
        x = np.arange(1.0, 40 * math.sqrt(_CONTINUOUS))
        weights = np.exp(-x * x / (2 * float(self.sigma_squared)))
        return float(2 * (x * x) @ weights / (1 + 2 * weights.sum()))

    @cached_property
    def _steps(self) -> GaussianSteps:
        return GaussianSteps.of(self.scale)

    @property
    def perturbation_weight(self) -> float:
        """The weight that goes with `perturbations`; `gaussian_steps` derives it, and says how nearly it is right."""
        return self._steps.weight

    @property
    def perturbation_variance(self) -> float:
        """The mean square of the perturbations."""
        return self._steps.variance

    def perturbations(self, shape: tuple[int, ...], random: np.random.Generator) -> Integers:
        """Return steps m, some of them backwards: `gaussian_steps`; not for protection."""
        return self._steps.sample(shape, random)

    def convolve(self, mass: Floats, step: float) -> Floats:
        """Return sum over n of mass[n] exp(-(y - n)**2 / (2 sigma**2)) at every place y, places `step` units apart.

        Term by term, not by Fourier transforms, whose rounding errors are larger than what the tails hold.
        """
        from scipy.ndimage import convolve1d  # workers, which only sample, do not wait for it

        reach = min(mass.shape[-1] - 1, math.ceil(_REACH * self.scale / step))
        places = np.arange(-reach, reach + 1) * (step / self.scale)
        seen: Floats = convolve1d(mass, np.exp(-np.square(places) / 2), axis=-1, mode="constant")
        return seen

    def noise_check(self) -> GaussianCheck:
        """Return the check of noisy counts against this noise."""
        from vdr_spark.privacy.gaussian_check import GaussianCheck  # and SciPy's statistics

        return GaussianCheck(self.sigma_squared)

    def sample(self, size: int, random_words: RandomWords) -> Integers:
        """Return `size` independent samples. (size,)"""
        samples = np.empty(size, dtype=np.int64)
        for begin in range(0, size, _CHUNK):
            samples[begin : begin + _CHUNK] = self._sample(min(_CHUNK, size - begin), random_words)
        return samples

    def _sample(self, size: int, random_words: RandomWords) -> Integers:
        negative, words = split_signs(random_words(size))
        magnitudes = self._blocks.sample(words, random_words)
        thrown = np.zeros(size, np.bool_)
        if (shift := self._thinning.shift) > 0:
            blocks, within = magnitudes, self._thinning.sample_within(size, random_words)
            thrown, magnitudes = ~self._thinning.keeps(blocks, within, random_words), (blocks << shift) + within
        samples = with_signs(negative, magnitudes)
        again = np.flatnonzero(thrown | (negative & (samples == 0)))
        if again.size:
            samples[again] = self._sample(again.size, random_words)
        return samples
