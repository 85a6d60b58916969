"""How many pings a person has: p(n) ~ (n + shift) ** -exponent for n = 1 .. cutoff.

A few people have most of the pings, as in every real feed; `shift` bends the law down for the many who have
few. The law is tabulated, so its mean is exact and a sample is one search in the cumulated table.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vdr_spark.arrays import Floats, Integers


@dataclass(frozen=True)
class PowerLaw:
    exponent: float
    shift: float
    cutoff: int

    @cached_property
    def probabilities(self) -> Floats:
        """p(1) .. p(cutoff). (cutoff,)"""
        weights = (np.arange(1, self.cutoff + 1) + self.shift) ** -self.exponent
        shares: Floats = weights / weights.sum()
        return shares

    @cached_property
    def _cumulated(self) -> Floats:
        return np.cumsum(self.probabilities)

    @cached_property
    def mean(self) -> float:
        """Pings of the average person."""
        return float(np.arange(1, self.cutoff + 1) @ self.probabilities)

    def users_for(self, pings: int) -> int:
        """Return the number of people who are expected to have `pings` pings together."""
        return max(1, round(pings / self.mean))

    def sample(self, rng: np.random.Generator, size: int) -> Integers:
        """Sample `size` independent numbers, each in 1 .. cutoff. (size,)"""
        found = np.searchsorted(self._cumulated, rng.random(size), side="right") + 1
        # Rounding can leave the last entry of the table a little below 1.
        return np.minimum(found, self.cutoff).astype(np.int64)
