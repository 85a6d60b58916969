"""The arrays that tasks work on, and the sorting they share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
"""A ping as 64 bits (`collect.bounding`), or a hash."""
Codes = NDArray[np.int32]
"""Which user, or which id of a list, a ping belongs to."""
Integers = NDArray[np.int64]


def order_by(*keys: NDArray[np.int32] | NDArray[np.uint32]) -> Integers:
    """The order that sorts by the first key, then by the next, equals as they stand; keys may not be negative.

    16 bits at a time: those NumPy sorts by radix.
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


def starts_of_runs(values: Words | Integers) -> NDArray[np.bool_]:
    """True where a value differs from the one before it, and at the start."""
    return np.concatenate(([True], values[1:] != values[:-1]))[: len(values)]


def position_in_run(starts: NDArray[np.bool_]) -> Integers:
    """0, 1, 2, ... counted anew from every start."""
    positions = np.arange(len(starts))
    return positions - np.maximum.accumulate(np.where(starts, positions, 0)) if len(starts) else positions
