"""What an estimate pays for following discrete Gaussian noise: steps m and a weight, as `Mechanism` wants them.

Wanted are weights b(m) with E n g(y) = sum over m of b(m) / 2 * E [g(y + m) - g(y - m)] for every g. With phi the
transform of the noise that says sum of b(m) sin(m w) = -phi'(w) / phi(w), for all w. The transform is a theta function,
phi(w) ~ product over odd k of (1 + 2 q**k cos w + q**(2 k)), q = exp(-1 / (2 sigma**2)) (Jacobi's triple product), and
the logarithmic derivative of every factor is a sine series. Added up,

    b(m)  =  (-1)**(m + 1) / sinh(m / (2 sigma**2)),        m = 1, 2, 3, ...,

exactly. As phi is nowhere zero there is no other solution, and none with positive weights. A negative weight is a step
backwards, so with m = +-j in proportion to |b(j)| this is what the protocol asks for. Up to a sigma of 1.11 it is used
as it stands.

For a larger sigma it is right and useless: the steps go to 2 sigma**2, far beyond the noise, and cancel. On |w| < pi,
-phi'/phi is the straight line sigma**2 w, which leaps back at pi, where phi is about exp(-(pi sigma)**2 / 2). Nothing
that is seen through the noise knows of the leap, so it may be blurred. Blurring by a Gaussian of variance d leaves a
straight line what it is, and multiplies b(m) by exp(-d m**2 / 2); and the leap may come sooner, at pi / a, if steps
are multiples j a of a whole number a of units:

    b(j a)  =  a (-1)**(j + 1) exp(-d j**2 / 2) / sinh(j a**2 / (2 sigma**2)).

The blurred leap, seen through the noise, is of the order exp(-pi**2 / (2 (d + a**2 / sigma**2))). Here a is a third
of sigma, rounded, d + a**2 / sigma**2 = 4/5, and all weights are scaled, by less than a hundredth, so that a g in
proportion to y is judged exactly. For a g between -1 and 1 the formula is then wrong by less than 0.006 sigma, whatever
g is: a test adds up |n P(n) - sum of b(m) / 2 (P(n - m) - P(n + m))|, which is the largest error that there can be. It
is far less for a g that is not made to find it, and lies below what chance does to any such estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers

_STEP = 1 / 3  # a, in sigmas
_BLUR = 0.8  # d + a**2 / sigma**2: more is wrong by more, less is at the mercy of chance
_MOST = 200  # j: what lies beyond has no weight that a double could add


@dataclass(frozen=True)
class GaussianSteps:
    """Steps in units, backwards where they are negative, and how much each of them weighs."""

    sizes: Integers  # (steps,)
    weights: Floats  # (steps,)

    @classmethod
    def of(cls, sigma: float) -> GaussianSteps:
        """Return the steps that go with discrete Gaussian noise."""
        a, j = max(1, round(_STEP * sigma)), np.arange(1, _MOST + 1)
        squeeze = (a / sigma) ** 2
        exponents, blur = j * (squeeze / 2), max(0.0, _BLUR - squeeze)
        inverse_sinh = 2 * np.exp(-exponents) / -np.expm1(-2 * exponents)
        weights = a * np.exp(-blur * j**2 / 2) * inverse_sinh
        j = j[: max(1, int(np.count_nonzero(weights > 1e-17 * weights[0])))]
        sizes, weights = np.where(j % 2 == 1, j, -j) * a, weights[: len(j)]
        return cls(sizes, weights * (sigma**2 / (weights @ sizes)) if blur > 0 else weights)

    @property
    def weight(self) -> float:
        """The weight of all steps together."""
        return float(self.weights.sum())

    @property
    def variance(self) -> float:
        """The mean square of a step, in units squared."""
        return float(self._shares @ self.sizes.astype(np.float64) ** 2)

    def sample(self, shape: tuple[int, ...], random: np.random.Generator) -> Integers:
        """Return steps as often as they weigh. (shape)"""
        chosen: Integers = random.choice(self.sizes, shape, p=self._shares)
        return chosen

    @property
    def _shares(self) -> Floats:
        """Shares of the steps; noise so small that none has a weight has one step, which counts for nothing."""
        shares: Floats = self.weights / self.weight if self.weight > 0 else np.ones(1)
        return shares
