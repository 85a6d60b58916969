"""Trees of square blocks over a slice, and the least squares that makes their noisy counts agree.

Constrained inference (Hay et al. 2010; for unequal variances Honaker 2015, Cormode et al. 2012): of all estimates in
which every block is the sum of its children, the one nearest to the noisy counts, each weighed by 1 / variance. It is
linear and unbiased, and no such estimate has a smaller variance. Two sweeps find it, whatever the numbers of children
are:

- up: the estimate from a block's own subtree is the mean of its noisy count and its children's sum, weighed so;
- down: what a block's final estimate differs by from its children's sum is shared among them by their variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.blocks import cut_evenly, repeat_blocks, sum_blocks


@dataclass(frozen=True)
class Hierarchy:
    """Levels of ever finer blocks, by the edges along both sides: the whole slice first, single cells last."""

    edges: tuple[Integers, ...]

    @classmethod
    def cut(cls, cells: int, branching: int) -> Hierarchy:
        """Return the tree in which a block is cut into branching x branching, until all blocks are cells."""
        edges, parts = [cut_evenly(cells, 1)], branching
        while parts < cells:
            edges.append(cut_evenly(cells, parts))
            parts *= branching
        return cls((*edges, cut_evenly(cells, cells)) if cells > 1 else tuple(edges))

    @property
    def height(self) -> int:
        """How many levels lie below the root."""
        return len(self.edges) - 1

    def children(self, level: int) -> Integers:
        """Return the edges of a level's blocks along a side, counted in blocks of the next level."""
        return np.searchsorted(self.edges[level + 1], self.edges[level]).astype(np.int64)

    def sums(self, layer: Floats) -> list[Floats]:
        """Return the sums of all blocks, level by level. (M, M) -> [(1, 1), ..., (M, M)]"""
        return [sum_blocks(layer, edges, edges) for edges in self.edges]


def estimate_cells(hierarchy: Hierarchy, layer: Floats, epsilons: Sequence[float], account: Account) -> Floats:
    """Measure every level with its share of epsilon, none where that is 0, and return consistent cells. (M, M)

    A ping is in one block of each level, so a level costs its share once and the tree the sum of all shares.
    """
    measured = [
        (account.measure(sums, epsilon), 2 / epsilon**2) if epsilon > 0 else (np.zeros_like(sums), np.inf)
        for sums, epsilon in zip(hierarchy.sums(layer), epsilons, strict=True)
    ]
    return infer_consistent(hierarchy, [noisy for noisy, _ in measured], [variance for _, variance in measured])


def infer_consistent(hierarchy: Hierarchy, noisy: Sequence[Floats], variances: Sequence[float]) -> Floats:
    """Return the cells of the nearest consistent tree, from noisy counts and variances by level. (M, M)"""
    upward, own = _sweep_up(hierarchy, noisy, variances)
    final = upward[0]
    for level in range(hierarchy.height):
        edges = hierarchy.children(level)
        below, variance = upward[level + 1], own[level + 1]
        missing = (final - sum_blocks(below, edges, edges)) / sum_blocks(variance, edges, edges)
        final = below + variance * repeat_blocks(missing, edges, edges)
    return final


def _sweep_up(
    hierarchy: Hierarchy, noisy: Sequence[Floats], variances: Sequence[float]
) -> tuple[list[Floats], list[Floats]]:
    """Return the estimates of all blocks from their own subtrees, and the variances of these."""
    estimates, own = [noisy[-1]], [np.full_like(noisy[-1], variances[-1])]
    for level in reversed(range(hierarchy.height)):
        edges = hierarchy.children(level)
        children, variance = sum_blocks(estimates[0], edges, edges), sum_blocks(own[0], edges, edges)
        weight = variance / (variance + variances[level]) if np.isfinite(variances[level]) else np.zeros_like(variance)
        estimates.insert(0, weight * noisy[level] + (1 - weight) * children)
        own.insert(0, (1 - weight) * variance)
    return estimates, own
