"""Noise as tests say it: by the sigma, in pings, of discrete Gaussian noise; and counts under any noise."""

from fractions import Fraction

import numpy as np

from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.privacy.randomness import seeded_words


def gaussian_noise(sigma: float, units_per_ping: int = 1) -> Noise:
    return Noise(DiscreteGaussian((Fraction(sigma) * units_per_ping) ** 2), units_per_ping)


def under_noise(truth: np.ndarray, noise: Noise, seed: int = 1) -> np.ndarray:
    """Return counts with noise by the mechanism's own sampler."""
    samples = noise.mechanism.sample(truth.size, seeded_words(seed, 0)).reshape(truth.shape)
    return (truth + samples / noise.units_per_ping).astype(np.float32)
