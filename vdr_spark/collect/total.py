"""N, the number of all pings, where it is not public: counted with each user's share limited, and noise of its own.

It is a draw like that of the cells: a tensor of one cell, in which every user adds at most `max_per_user` pings,
with noise of its own that hides so many. It is booked on an entry of its own, stored before it is
used, and drawn once; releases of the same pings at the same price share it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.collect.bounding import Counts
from vdr_spark.collect.locate import Located
from vdr_spark.collect.sorting import Codes, Hashes, PackedPings


class PingNumbers:
    """What boundings share that ask how many pings a user has, and not where: packed pings are numbers of pings."""

    def pack(self, pings: Located, user_hash: Hashes) -> PackedPings:  # noqa: ARG002  part of the protocol
        return np.ones(len(pings), dtype=np.uint64)

    def prune(self, sizes: Integers, packed: PackedPings) -> tuple[Integers, PackedPings]:  # noqa: ARG002  all are ones
        return np.ones_like(sizes), sizes.astype(np.uint64)

    def count_pings(self, users: int, code: Codes, packed: PackedPings) -> Integers:
        """Return how many pings each user has. (users,)"""
        # Floating-point sums of whole numbers below 2**53: exact.
        return np.bincount(code, weights=packed.astype(np.float64), minlength=users).astype(np.int64)


@dataclass(frozen=True)
class Clip(PingNumbers):
    """A bounding that counts: all pings of a user, at most `most`, into cell 0."""

    most: int

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        pings = self.count_pings(users, code, packed)
        return np.zeros(1, dtype=np.int64), np.array([np.minimum(pings, self.most).sum()])
