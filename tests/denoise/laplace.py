"""Noise as tests say it: by the scale, in pings, of discrete Laplace noise."""

from fractions import Fraction

from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.mechanism import Noise


def laplace_noise(scale: float, units_per_ping: int = 1) -> Noise:
    return Noise(DiscreteLaplace(Fraction(scale) * units_per_ping), units_per_ping)
