"""What a cell's released count and error bar say of its true count: a gamma distribution of that mean and deviation.

True counts are not negative, and spread more to above than to below; a gamma does both with just the two numbers that
are released. Of four distributions with these numbers (normal, lognormal, negative binomial, gamma) it gave the
probabilities that came true as often as they said (docs/hotspots.md). A normal, as SQL has it, says too much below a
half and too little above.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats

_LEAST = 1e-6  # pings: no cell's count is known to be zero


@dataclass(frozen=True)
class Posterior:
    """Gamma distributions of true counts, one of each cell. Both arrays have the cells' shape."""

    shape: Floats
    scale: Floats  # pings

    @classmethod
    def of(cls, counts: Floats, deviation: Floats) -> Posterior:
        """Return those with the released counts as means and the error bars as deviations."""
        mean, spread = (np.maximum(values.astype(np.float64), _LEAST) for values in (counts, deviation))
        return cls((mean / spread) ** 2, spread**2 / mean)

    def at_a_ping(self) -> Posterior:
        """Return what they are for somebody who stands there because a ping does.

        A ping chosen at random lies in a cell of n pings with a chance that grows as n: the density is multiplied by
        n, which for a gamma is one more in its shape.
        """
        return Posterior(self.shape + 1, self.scale)

    def reaches(self, density: float) -> Floats:
        """Return the probability that the true count, a whole number, is at least `density`."""
        return self.exceeds(max(density - 0.5, 0.0))

    def exceeds(self, pings: float) -> Floats:
        """Return the probability of more than so many pings, whole or not."""
        from scipy.special import gammaincc  # slow to import: other questions do without

        found: Floats = gammaincc(self.shape, pings / self.scale)
        return found

    def shortfall(self, density: float) -> Floats:
        """Return by how many pings the true count is expected to fall short of `density`: the mean regret.

        E max(v - X, 0) = v F(v; a) - a b F(v; a + 1), F the gamma's distribution with shape a and scale b.
        """
        from scipy.special import gammainc

        upto = density / self.scale
        found: Floats = density * gammainc(self.shape, upto) - self.mean * gammainc(self.shape + 1, upto)
        return np.maximum(found, 0.0)

    @property
    def mean(self) -> Floats:
        """The expected counts, in pings."""
        found: Floats = self.shape * self.scale
        return found
