"""How many pings there are where people ask: squares of one to four cells at pings, in one slice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from vdr_spark.arrays import Floats
from vdr_spark.evaluate.metrics import SMOOTHING_SHARE
from vdr_spark.evaluate.workloads import range_queries
from vdr_spark.grid import Grid

CELLS_ASKED = 43 / 6  # of a square whose side is uniform in 1 to 4 cells, and rounded: 1, 4, 9 or 16
_SPREAD = 1.5  # deviation of the logarithm of how dense a city is from place to place
_BUILT = 0.5  # of a box, where anybody is
_QUANTILES = 40
_QUERIES = 2000


@dataclass(frozen=True)
class Places:
    """What the squares hold, in shares of the mean slice's pings, each as likely as the other. (p,)"""

    shares: Floats

    def counts(self, of_slice: float) -> Floats:
        """Return the pings of the squares, where the mean slice has so many. (p,)"""
        return self.shares * of_slice

    def divisors(self, of_slice: float) -> Floats:
        """Return what errors are divided by: the count, at least psi, 0.1 % of a slice. (p,)"""
        return np.maximum(self.shares, SMOOTHING_SHARE) * of_slice


def typical_places(cells_per_side: int) -> Places:
    """Return the places of a city of which nothing is known: half of the box, where density is log-normal.

    A place is asked about the more often the more pings it has. A log-normal of mean 1 and spread t, weighed by
    itself, is a log-normal of median exp(t**2 / 2) and the same spread.
    """
    even = CELLS_ASKED / (_BUILT * cells_per_side**2)
    chances = (np.arange(_QUANTILES) + 0.5) / _QUANTILES
    return Places(np.minimum(even * np.exp(_SPREAD**2 / 2 + _SPREAD * ndtri(chances)), 1.0))


def released_places(counts: NDArray[Any], grid: Grid, cells_per_side: int, side_m: float) -> Places:
    """Return the places of a released tensor (T, M, M), for a grid of so many cells over a box of that side.

    Squares of cells of another size have a share that grows with their area.
    """
    tensor = np.maximum(counts, 0)
    metres = grid.cell_metres[0]
    queries = range_queries(tensor, grid, seed=0, count=_QUERIES, side_m=(metres, 4 * metres))
    larger = (side_m / cells_per_side / metres) ** 2
    shares = queries.answers(tensor) * len(tensor) / tensor.sum(dtype=np.float64) * larger
    return Places(np.minimum(shares, 1.0))
