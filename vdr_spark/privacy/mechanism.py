"""Mechanisms by name, and what everything else needs to know about the noise of one cell.

A mechanism adds independent integer noise, the same for every cell. Whoever samples it, checks it, estimates counts
through it or says how large it is asks the mechanism and knows no distribution by name. Another mechanism is one file
that implements `Mechanism`, and one line in `MECHANISMS` or in `ZCDP_MECHANISMS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol, SupportsFloat

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import RandomWords

if TYPE_CHECKING:
    from vdr_spark.privacy.noise_check import NoiseCheck


class Mechanism(Protocol):
    """Integer noise n, symmetric around zero, in integer units. Must be picklable: tasks sample it.

    A pickle carries whatever tables the sampler needs, so that tasks do not compute them again.
    """

    @property
    def name(self) -> str:
        """The name by which a configuration chooses it."""
        ...

    @property
    def scale(self) -> SupportsFloat:
        """The length in which its distribution is measured, in units: steps of tables are fractions of it."""
        ...

    @property
    def variance(self) -> float:
        """The variance of the noise of one cell, in units squared; public."""
        ...

    @property
    def depth(self) -> float:
        """How far below zero, in units, a noisy count still says more than zero does; 0 for noise without memory."""
        ...

    @property
    def perturbation_weight(self) -> float:
        """w in E n g(y) = w / 2 * E [g(y + m) - g(y - m)], in units; m are `perturbations`, g is any function.

        The left side is what an estimate g of a count pays for following its own noise (`denoise.estimation.risk`).
        """
        ...

    @property
    def perturbation_variance(self) -> float:
        """The mean square of `perturbations`, in units squared: how much noise they add to what they are added to."""
        ...

    def sample(self, size: int, random_words: RandomWords) -> Integers:
        """Return `size` exact samples of the noise, made of random words. (size,)"""
        ...

    def perturbations(self, shape: tuple[int, ...], random: np.random.Generator) -> Integers:
        """Return samples m that go with `perturbation_weight`, in units, of any sign; not for protection. (shape)"""
        ...

    def convolve(self, mass: Floats, step: float) -> Floats:
        """Return sum over n of mass[n] P(y - n) at every place y, up to a common factor. Along the last axis.

        Places n and y are `step` units apart.
        """
        ...

    def noise_check(self) -> NoiseCheck:
        """Return what tells from noisy counts alone whether they carry this noise."""
        ...


MECHANISMS: dict[str, Callable[[int, Fraction], Mechanism]] = {
    DiscreteLaplace.name: DiscreteLaplace.calibrate,
}
"""Mechanisms by name that give pure epsilon, each built from an L1 sensitivity in integer units and epsilon."""

ZCDP_MECHANISMS: dict[str, Callable[[int, Fraction], Mechanism]] = {
    DiscreteGaussian.name: DiscreteGaussian.calibrate_rho,
}
"""Mechanisms by name that give rho-zCDP and no pure epsilon, each built from an L2 sensitivity and rho."""

_BY_CURRENCY = {Currency.EPSILON: MECHANISMS, Currency.RHO: ZCDP_MECHANISMS}


def build_mechanism(name: str, sensitivity: int, price: Price) -> Mechanism:
    """Return the named mechanism, calibrated to counts that one user changes by at most `sensitivity` units.

    That is the sum of a user's changes (L1) where the price is epsilon, and the root of the sum of their squares (L2)
    where it is rho. What bounds the first bounds the second.
    """
    known = _BY_CURRENCY[price.currency]
    if name not in known:
        raise InvalidConfig(
            f"privacy.mechanism must be one of {', '.join(sorted(known))} where the price is {price.currency}, "
            f"not {name!r}"
        )
    return known[name](sensitivity, price.amount)


@dataclass(frozen=True)
class Noise:
    """The noise of a cell in pings, on counts that are whole multiples of 1 / units_per_ping."""

    mechanism: Mechanism
    units_per_ping: int = 1
    stretch: float = 1.0  # of the noise's lengths; for judging estimates, never for protection

    def widened(self, share: float) -> Noise:
        """Return the noise of counts whose noise has so much more variance, as a share of its own; about its shape."""
        return replace(self, stretch=self.stretch * math.sqrt(1 + share))

    @property
    def scale(self) -> float:
        """The length in which the noise's distribution is measured, in pings."""
        return float(self.mechanism.scale) * self._pings_per_unit

    @property
    def variance(self) -> float:
        """The variance of the noise of one cell, in pings squared."""
        return self.mechanism.variance * self._pings_per_unit**2

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise of one cell, in pings."""
        return math.sqrt(self.variance)

    @property
    def depth(self) -> float:
        """How far below zero, in pings, a noisy count still says more than zero does."""
        return self.mechanism.depth * self._pings_per_unit

    @property
    def perturbation_weight(self) -> float:
        """The mechanism's weight of a perturbation, in pings."""
        return self.mechanism.perturbation_weight * self._pings_per_unit

    @property
    def perturbation_variance(self) -> float:
        """The mean square of perturbations, in pings squared."""
        return self.mechanism.perturbation_variance * self._pings_per_unit**2

    def perturbations(self, shape: tuple[int, ...], random: np.random.Generator) -> Slices:
        """Return the mechanism's perturbations, in pings. (shape)"""
        return (self.mechanism.perturbations(shape, random) * self._pings_per_unit).astype(np.float32)

    def convolve(self, mass: Floats, step: float) -> Floats:
        """Return a distribution over places `step` pings apart as it is seen through the noise."""
        return self.mechanism.convolve(mass, step / self._pings_per_unit)

    @property
    def _pings_per_unit(self) -> float:
        return self.stretch / self.units_per_ping
