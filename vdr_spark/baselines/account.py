"""The only source of noise of the baselines. It counts what it hands out, and hands out no more than epsilon.

The unit is one ping. A user who changes the counts by at most k in sum is k pings away, so epsilon / k per ping is
epsilon per user (group privacy): an account is opened with epsilon / sensitivity, and methods need not know k.

Questions that are asked one after the other add up (sequential composition). Questions about disjoint parts of the
data do not: a ping is in one part, so the dearest part counts (parallel composition). What is spent is therefore the
largest sum over all ways from the whole to a part of a part, for trees from the root to a leaf.

Noise here is seeded and of floating point: it repeats, and its last digits leak (Mironov 2012). Not for protection.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats
from vdr_spark.errors import BudgetExceeded, InvalidConfig

_ROUNDING = 1e-9  # of epsilon: shares that add up to it may miss it by so much
Part = TypeVar("Part")
Result = TypeVar("Result")


@dataclass
class Account:
    """Epsilon for one ping, what of it was spent, and seeded noise."""

    epsilon: float
    random: np.random.Generator
    spent: float = 0.0

    @classmethod
    def open(cls, epsilon: float, sensitivity: float, random: np.random.Generator) -> Account:
        """Return an account for counts that one protected unit changes by at most `sensitivity` in sum."""
        for name, value in (("epsilon", epsilon), ("sensitivity", sensitivity)):
            if not (math.isfinite(value) and value > 0):
                raise InvalidConfig(f"{name} must be a positive number, not {value}; give what the release is given")
        return cls(epsilon / sensitivity, random)

    @property
    def left(self) -> float:
        """What may still be spent."""
        return max(self.epsilon - self.spent, 0.0)

    def charge(self, epsilon: float) -> None:
        """Book the cost of a question about all of the data of this account; refuse what is not there."""
        if not epsilon > 0 or self.spent + epsilon > self.epsilon * (1 + _ROUNDING):
            raise BudgetExceeded(f"a question may cost up to {self.left:.6g} here, and more than 0, not {epsilon:.6g}")
        self.spent += epsilon

    def measure(self, sums: NDArray[Any] | float, epsilon: float, sensitivity: float = 1.0) -> Floats:
        """Return sums with Laplace noise, for epsilon.

        All of them together change by at most `sensitivity` with a ping: by 1, where they are over disjoint cells.
        """
        self.charge(epsilon)
        exact = np.asarray(sums, dtype=np.float64)
        noisy: Floats = exact + self.laplace(exact.shape, sensitivity / epsilon)
        return noisy

    def count(self, sums: float, epsilon: float) -> float:
        """Return one sum with Laplace noise, but no less than 0, for epsilon."""
        return max(float(self.measure(sums, epsilon)), 0.0)

    def choose(self, scores: NDArray[Any], epsilon: float, sensitivity: float) -> int:
        """Return the place of a large score, by the exponential mechanism, for epsilon.

        Each score changes by at most `sensitivity` with a ping. The largest of the scores in units of 2 sensitivity /
        epsilon, each with Gumbel noise, is distributed like exp(epsilon score / (2 sensitivity)).
        """
        self.charge(epsilon)
        temperature = 2 * sensitivity / epsilon
        return int(np.argmax(np.asarray(scores) / temperature + self.random.gumbel(size=len(scores))))

    def laplace(self, shape: tuple[int, ...], scale: float) -> Floats:
        """Return bare noise, free of charge: whoever asks for it charges by an argument of its own."""
        return self.random.laplace(0.0, scale, shape)

    def in_parallel(self, work: Callable[[Part, Account], Result], parts: Iterable[Part]) -> list[Result]:
        """Do the same with disjoint parts of the data, each with all that is left; charge what the dearest costs."""
        results, dearest = [], 0.0
        for part in parts:
            account = Account(self.left, self.random)
            results.append(work(part, account))
            dearest = max(dearest, account.spent)
        if dearest:
            self.charge(dearest)
        return results
