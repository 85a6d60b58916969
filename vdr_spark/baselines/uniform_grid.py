"""Uniform Grid (UG): blocks as large as noise and unevenness together ask for. Qardaji, Yang, Li 2013, section IV.A.

A grid of m x m blocks over N pings: noise of a query grows with m, the error of taking blocks for even falls with it.
Both together are least near m = sqrt(N epsilon / c), with c = 10 for all data sets of the paper.

Budget, per slice: 1 % for N, the rest for the blocks. Private, because N and the blocks are two questions in
sequence, the blocks are disjoint, and m comes from the noisy N.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import TOTAL_SHARE, Counts, by_slices
from vdr_spark.baselines.blocks import cut_evenly, spread_blocks, sum_blocks


@dataclass(frozen=True)
class UniformGrid:
    """One grid of even blocks per slice."""

    name: ClassVar[str] = "ug"

    constant: float = 10.0  # c, the paper's

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return blocks' noisy sums, spread over their cells. (T, M, M)"""
        return by_slices(self._estimate_slice, counts, account)

    def _estimate_slice(self, layer: Floats, account: Account) -> Floats:
        pings = account.count(layer.sum(), TOTAL_SHARE * account.epsilon)
        edges = cut_evenly(len(layer), min(grid_size(pings, account.epsilon, self.constant), len(layer)))
        return spread_blocks(account.measure(sum_blocks(layer, edges, edges), account.left), edges, edges)


def grid_size(pings: float, epsilon: float, constant: float) -> int:
    """Return m, how many blocks a side is cut into: sqrt(N epsilon / c), to the nearest, 1 at least."""
    return max(round(math.sqrt(pings * epsilon / constant)), 1)
