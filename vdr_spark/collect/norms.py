"""How much a ping of each user counts where L2 norms are bounded, in integers from end to end.

Let c be a user's counts over all cells of all regions, in pings, Q the sum of their squares, s the bound, and U the
units of a ping. Every ping of the user counts w units: the largest w <= U with w**2 Q <= (s U)**2. As w**2 is an
integer, that is w**2 <= (s U)**2 // Q, which is w <= isqrt((s U)**2 // Q). So the user adds w c to the cells, whose L2
norm is w sqrt(Q) <= s U, with no rounding left to argue about; and if sqrt(Q) <= s, w = U, and all pings count fully.

Python's integers have no largest one. Q is summed up in doubles where these are exact: a user of n pings has
Q <= n**2, which is at most 2**52 for n <= 2**26, and so is every partial sum of it. The few others are summed up in
Python's integers. Users of few pings have few different Q, so that a root is taken once for many of them.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.collect.sorting import Codes, mark_run_starts, order_by
from vdr_spark.units import WEIGHT_UNIT

_SQUARED_EXACTLY = 2**26  # pings, whose square a double still holds


def merge_pairs(code: Codes, cells: Integers, pings: Integers) -> tuple[Codes, Integers, Integers]:
    """Merge entries of the same user and cell: users, cells and numbers of pings, no pair twice. (n,) -> (p,)"""
    high = cells >> 32
    low = cells.astype(np.uint32)  # the low 32 bits
    order = order_by(code, high.astype(np.uint32), low) if high.any() else order_by(code, low)
    code, cells = code[order], cells[order]
    begins = np.flatnonzero(mark_run_starts(code) | mark_run_starts(cells))
    if not len(begins):
        return code, cells, pings
    return code[begins], cells[begins], np.add.reduceat(pings[order], begins)


def find_weights(users: int, code: Codes, pings: Integers, norm: int) -> Integers:
    """Return how many units a ping of each user counts, from the merged pings of all cells. (users,)"""
    doubles = pings.astype(np.float64)
    squares = np.bincount(code, weights=doubles * doubles, minlength=users)
    different, which = np.unique(squares, return_inverse=True)
    weights = np.array([weigh(int(square), norm) for square in different], dtype=np.int64)[which]
    sizes = np.bincount(code, weights=doubles, minlength=users)
    for user in np.flatnonzero(sizes > _SQUARED_EXACTLY):
        weights[user] = weigh(sum(count * count for count in pings[code == user].tolist()), norm)
    return weights


def weigh(square: int, norm: int) -> int:
    """Return the units that each ping of a user counts whose counts have this sum of squares."""
    return min(WEIGHT_UNIT, isqrt((norm * WEIGHT_UNIT) ** 2 // max(1, square)))
