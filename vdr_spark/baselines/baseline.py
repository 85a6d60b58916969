"""What a baseline is, and the one way to run it: exact counts in, an estimate of the same shape out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.errors import InvalidInput

Counts = NDArray[Any]
"""Exact counts, whole numbers or sums of weights, none below 0. (T, M, M)"""

TOTAL_SHARE = 0.01
"""The share of epsilon for the number of pings, where a method sizes its grid by it; "very small", the papers say."""


class Baseline(Protocol):
    """A published method: a name, and a function from counts and an account to an estimate."""

    @property
    def name(self) -> str:
        """The name by which a comparison chooses it."""
        ...

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return estimated counts, reading the exact ones through the account's noise alone. (T, M, M) -> (T, M, M)"""
        ...


def estimate(
    baseline: Baseline, counts: Counts, epsilon: float, sensitivity: float, random: np.random.Generator
) -> Slices:
    """Run a baseline on exact counts. Seeded: to be compared with the truth, never to be published.

    `sensitivity` is how much one protected unit changes the counts in sum: 1 for a ping, k for a user with k of them.
    """
    check_counts(counts)
    return baseline(counts, Account.open(epsilon, sensitivity, random))


def check_counts(counts: Counts) -> None:
    """Refuse what is no tensor of counts."""
    if counts.ndim != 3 or counts.shape[1] != counts.shape[2] or 0 in counts.shape:
        raise InvalidInput(f"counts must have the shape (T, M, M), with a cell at least, not {counts.shape}")
    if not (np.isfinite(counts).all() and counts.min() >= 0):
        raise InvalidInput("counts must be finite, and none below 0; give exact counts, not a noisy tensor")


def by_slices(work: Callable[[Floats, Account], Floats], counts: Counts, account: Account) -> Slices:
    """Estimate every slice for itself, (M, M) -> (M, M), each with all of epsilon: a ping is in one slice."""

    def estimate_slice(layer: NDArray[Any], part: Account) -> NDArray[np.float32]:
        return work(layer.astype(np.float64), part).astype(np.float32)  # all slices in double precision would be large

    return np.stack(account.in_parallel(estimate_slice, counts))
