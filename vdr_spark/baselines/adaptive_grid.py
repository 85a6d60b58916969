"""Adaptive Grid (AG): a coarse grid, in each block a second one as fine as its count allows. Qardaji et al. 2013, IV.B.

First m1 x m1 blocks, m1 = max(10, sqrt(N epsilon / c) / 4), with a share alpha of epsilon. A block that shows N'
pings is cut into m2 x m2, m2 = sqrt(N' (1 - alpha) epsilon / c2), c2 = c / 2, and these are counted with the rest.
Then the two counts of each block, its own and the sum of its parts, are put together by least squares (the paper's
constrained inference).

Budget, per slice: 1 % for N; of the rest alpha = 0.5 for the first grid and 1 - alpha for the second. Private,
because the three are questions in sequence, blocks are disjoint in each, and both sizes come from noisy counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import TOTAL_SHARE, Counts, by_slices
from vdr_spark.baselines.blocks import cut_evenly, spread_blocks, sum_blocks


@dataclass(frozen=True)
class AdaptiveGrid:
    """Two grids per slice, the second adapted to the first."""

    name: ClassVar[str] = "ag"

    constant: float = 10.0  # c, the paper's
    alpha: float = 0.5  # the first grid's share, the paper's

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the second grid's consistent sums, spread over their cells. (T, M, M)"""
        return by_slices(self._estimate_slice, counts, account)

    def _estimate_slice(self, layer: Floats, account: Account) -> Floats:
        pings = account.count(layer.sum(), TOTAL_SHARE * account.epsilon)
        epsilon = account.left
        edges = cut_evenly(len(layer), min(first_size(pings, epsilon, self.constant), len(layer)))
        noisy = account.measure(sum_blocks(layer, edges, edges), self.alpha * epsilon)
        result = np.empty_like(layer)

        def refine_block(place: tuple[int, ...], part: Account) -> None:
            row, column = place
            inside = slice(edges[row], edges[row + 1]), slice(edges[column], edges[column + 1])
            result[inside] = self._refine(layer[inside], float(noisy[place]), self.alpha * epsilon, part)

        account.in_parallel(refine_block, np.ndindex(*noisy.shape))
        return result

    def _refine(self, block: Floats, noisy: float, spent: float, account: Account) -> Floats:
        """Return a block's cells, from its noisy count, measured with `spent`, and its parts'. (H, W)"""
        epsilon = account.left
        size = second_size(noisy, epsilon, self.constant / 2)
        rows, columns = (cut_evenly(side, min(size, side)) for side in block.shape)
        parts = account.measure(sum_blocks(block, rows, columns), epsilon)
        weight = own_weight(spent, epsilon, parts.size)
        final = weight * noisy + (1 - weight) * parts.sum()
        return spread_blocks(parts + (final - parts.sum()) / parts.size, rows, columns)


def first_size(pings: float, epsilon: float, constant: float) -> int:
    """Return m1: a quarter of UG's grid, but 10 at least."""
    return max(10, math.ceil(math.sqrt(pings * epsilon / constant) / 4))


def second_size(pings: float, epsilon: float, constant: float) -> int:
    """Return m2 for a block of so many pings by its noisy count, from the second grid's epsilon and c2."""
    return max(math.ceil(math.sqrt(max(pings, 0.0) * epsilon / constant)), 1)


def own_weight(first: float, second: float, parts: int) -> float:
    """Return the weight of a block's own count beside its parts' sum: variances 2 / first^2 and 2 parts / second^2."""
    return parts * first**2 / (parts * first**2 + second**2)
