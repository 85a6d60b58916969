"""PrivTree: a quadtree of any depth, whose noise does not grow with its depth. Zhang, Xiao, Xie 2016.

A block at depth d with c pings is cut where max(c - d delta, theta - delta) plus Laplace noise of scale lambda
exceeds theta. The bias delta per level makes sure that small blocks are hardly ever cut, and that is what privacy
needs: the price of all decisions on a way from root to leaf is a geometric sum instead of one epsilon per level. With
fan-out beta and epsilon_1 for the tree

    lambda = (2 beta - 1) / (beta - 1) / epsilon_1,    delta = lambda ln beta,    theta = 0.

Budget, per slice: epsilon_1 = epsilon / 2 for the tree, the rest for the leaves' counts, as in the paper. Private,
because the tree is so by the paper's theorem 3.1, whatever its depth, and the leaves are disjoint. Here cells end the
tree, which only makes it smaller.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Mask, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices
from vdr_spark.baselines.blocks import repeat_blocks, spread_blocks, sum_blocks
from vdr_spark.baselines.hierarchy import Hierarchy

FAN_OUT = 4  # beta: 2 x 2


@dataclass(frozen=True)
class PrivTree:
    """An adaptive quadtree per slice."""

    name: ClassVar[str] = "privtree"

    tree_share: float = 0.5
    theta: float = 0.0

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the leaves' noisy counts, spread over their cells. (T, M, M)"""
        hierarchy = Hierarchy.cut(counts.shape[1], 2)

        def estimate_slice(layer: Floats, part: Account) -> Floats:
            leaves = self.grow(hierarchy, layer, part)
            result = np.zeros_like(layer)
            scale = 1 / part.left
            part.charge(part.left)  # once for all levels: leaves are disjoint
            for edges, is_leaf in zip(hierarchy.edges, leaves, strict=True):
                sums = sum_blocks(layer, edges, edges) + part.laplace(is_leaf.shape, scale)
                result += spread_blocks(np.where(is_leaf, sums, 0.0), edges, edges)
            return result

        return by_slices(estimate_slice, counts, account)

    def grow(self, hierarchy: Hierarchy, layer: Floats, account: Account) -> list[Mask]:
        """Return which blocks are leaves, level by level. [(1, 1), ..., (M, M)]"""
        epsilon = self.tree_share * account.epsilon
        account.charge(epsilon)
        scale = noise_scale(epsilon)
        reached, leaves = np.ones((1, 1), dtype=bool), []
        for depth, edges in enumerate(hierarchy.edges):
            biased = bias(sum_blocks(layer, edges, edges), depth, scale, self.theta)
            last = depth == hierarchy.height
            cut = reached & (biased + account.laplace(biased.shape, scale) > self.theta) & (not last)
            leaves.append(reached & ~cut)
            if not last:
                children = hierarchy.children(depth)
                reached = repeat_blocks(cut, children, children)
        return leaves


def noise_scale(epsilon: float) -> float:
    """Return lambda, the scale of every decision's noise, whatever the depth."""
    return (2 * FAN_OUT - 1) / (FAN_OUT - 1) / epsilon


def bias(counts: Floats, depth: int, scale: float, theta: float) -> Floats:
    """Return what decisions look at: counts less by delta = lambda ln beta per level, but theta - delta at least."""
    delta = scale * math.log(FAN_OUT)
    return np.maximum(counts - depth * delta, theta - delta)
