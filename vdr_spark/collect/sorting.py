"""The arrays that tasks work on, and the sorting they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Integers, Mask

PackedPings = NDArray[np.uint64]
"""Pings in 64 bits each: the cell in the low bits, above it what the bounding needs to know (`collect.bounding`)."""

Hashes = NDArray[np.uint64]
"""Hashes of 64 bits, or bits on their way into one."""

Codes = NDArray[np.int32]
"""The position of each ping's user in a list of distinct users, the bucket of each user, or cells of a layer."""


def order_by(*keys: NDArray[np.int32] | NDArray[np.uint32]) -> Integers:
    """Return the order that sorts by the first key, then by the next, equals as they stand. Keys may not be negative.

    It sorts 16 bits at a time, because NumPy sorts those by radix.
    """
    order: Integers | None = None
    for key in reversed(keys):
        for shift in (0, 16) if int(key.max(initial=0)) >> 16 else (0,):
            digit = (key >> shift).astype(np.uint16)
            order = (
                np.argsort(digit, kind="stable") if order is None else order[np.argsort(digit[order], kind="stable")]
            )
    assert order is not None
    return order


def mark_run_starts(values: NDArray[np.uint64] | Codes | Integers) -> Mask:
    """Mark each value that differs from the one before it, and the first."""
    return np.concatenate(([True], values[1:] != values[:-1]))[: len(values)]


def count_within_runs(starts: Mask) -> Integers:
    """Count 0, 1, 2, ... anew from every start."""
    positions = np.arange(len(starts))
    return positions - np.maximum.accumulate(np.where(starts, positions, 0)) if len(starts) else positions
