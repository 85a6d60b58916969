"""A histogram of pings per user: every user adds one to one bin, that of the logarithm of their number of pings.

A draw like that of the cells: a tensor of one cell for each bin, booked on an entry of its own, stored before it is
used, and drawn once. Whoever is added or removed changes one bin by one, so its sensitivity is 1 in L1 and in L2,
however many pings a user has. Which bin it is follows from that user's pings alone, those of all regions together.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Integers
from vdr_spark.collect.bounding import Counts
from vdr_spark.collect.sorting import Codes, PackedPings
from vdr_spark.collect.total import PingNumbers

BINS = 24  # of 1, 2 to 3, 4 to 7, ... pings; the last one is open: 8.4 million and more


def bins_of(pings: Integers) -> Integers:
    """Return the bin of each number of pings, from 1 on: the exponent of the power of two that it reaches. (n,)"""
    # frexp is exact for whole numbers below 2**53: log2 might round 2**b - 1 up to b.
    exponent: Integers = np.frexp(pings.astype(np.float64))[1].astype(np.int64) - 1
    return np.minimum(exponent, BINS - 1)


@dataclass(frozen=True)
class OnePerUser(PingNumbers):
    """A bounding that counts users: one each, into the first cell of the layer of their bin.

    Layers are slices, of which the grid says how many cells they have.
    """

    cells_per_layer: int

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        pings = self.count_pings(users, code, packed)
        counted = np.bincount(bins_of(pings[pings > 0]), minlength=BINS)
        return np.arange(BINS, dtype=np.int64) * self.cells_per_layer, counted
