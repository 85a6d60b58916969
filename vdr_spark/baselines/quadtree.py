"""QuadTree: a full tree of 2 x 2 children, finer levels with more of epsilon, made consistent. Cormode et al. 2012.

A query touches a number of blocks that doubles with every level, so the variance of the worst query is least where a
level i above the leaves has a share proportional to 2^(-i / 3): the paper's geometric budget.

Budget, per slice: that of level i is epsilon 2^((h - i) / 3) (2^(1/3) - 1) / (2^((h + 1) / 3) - 1), i = 0 for the
leaves and h for the root; all h + 1 together are epsilon. Private, because a ping is in one block per level: levels
in sequence, blocks of a level in parallel. The tree depends on M alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices
from vdr_spark.baselines.hierarchy import Hierarchy, estimate_cells


@dataclass(frozen=True)
class QuadTree:
    """A full quadtree per slice, down to the cells; unbiased."""

    name: ClassVar[str] = "quadtree"

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the consistent tree's cells. (T, M, M)"""
        hierarchy = Hierarchy.cut(counts.shape[1], 2)

        def estimate_slice(layer: Floats, part: Account) -> Floats:
            return estimate_cells(hierarchy, layer, geometric_shares(hierarchy.height, part.epsilon), part)

        return by_slices(estimate_slice, counts, account)


def geometric_shares(height: int, epsilon: float) -> list[float]:
    """Return the epsilons of all levels, the root's first: each 2^(1/3) times the one above it. (height + 1,)"""
    weights = [2 ** (level / 3) for level in range(height + 1)]
    return [epsilon * weight / sum(weights) for weight in weights]
