"""HB: a tree of b x b children with the best b, made consistent. Qardaji, Yang, Li 2013 (VLDB).

All h levels below the root are counted, each with epsilon / h. A range query adds up the largest blocks inside it, so
its variance is 2 h^2 / epsilon^2 times their number. Few children make a high tree, with much noise per level; many
make queries of many blocks. b is the one for which the mean over all ranges is least; b = M is no tree at all. The
mean number is exact here, also where b^h is not M (`mean_blocks`). As in the paper it is that of the tree before
constrained inference.

Budget, per slice: epsilon / h per level, equal, as in the paper. Private, because a ping is in one block per level:
levels in sequence, blocks of a level in parallel. b depends on M alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices
from vdr_spark.baselines.hierarchy import Hierarchy, estimate_cells


@dataclass(frozen=True)
class Hb:
    """A tree per slice; unbiased."""

    name: ClassVar[str] = "hb_striped"

    branching: int | None = None  # along a side; None: the best

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the consistent tree's cells. (T, M, M)"""
        cells = counts.shape[1]
        hierarchy = Hierarchy.cut(cells, self.branching or choose_branching(cells))
        height = max(hierarchy.height, 1)

        def estimate_slice(layer: Floats, part: Account) -> Floats:
            share = part.epsilon / height
            root = 0.0 if hierarchy.height else share  # of a single cell there is nothing but the root
            return estimate_cells(hierarchy, layer, [root] + [share] * hierarchy.height, part)

        return by_slices(estimate_slice, counts, account)


@cache
def choose_branching(cells: int) -> int:
    """Return the b, along a side of so many cells, of the least mean variance of range queries."""
    if cells <= 2:
        return 2
    return min(range(2, cells + 1), key=lambda branching: mean_variance(cells, branching))


def mean_variance(cells: int, branching: int) -> float:
    """Return the variance of the mean range query over a slice at epsilon 1, before constrained inference."""
    hierarchy = Hierarchy.cut(cells, branching)
    return 2 * hierarchy.height**2 * mean_blocks(hierarchy)


def mean_blocks(hierarchy: Hierarchy) -> float:
    """Return how many measured blocks a query adds up, in the mean over all ranges of rows and of columns.

    A block counts where it lies inside the query and its parent does not. Rows and columns are ranges apart from each
    other, so the expected number of blocks inside is the square of that along a side.
    """
    cells, total = int(hierarchy.edges[0][-1]), 0.0
    for level in range(1, hierarchy.height + 1):
        inside = _chance_inside(hierarchy.edges[level], cells).sum()
        whole = hierarchy.edges[level - 1]
        by_parent = (_chance_inside(whole, cells) * np.diff(hierarchy.children(level - 1))).sum() if level > 1 else 0.0
        total += inside**2 - by_parent**2
    return float(total)


def _chance_inside(edges: Integers, cells: int) -> Floats:
    """Return for each interval between edges the share of all ranges of a side that hold it."""
    chance: Floats = (edges[:-1] + 1) * (cells - edges[1:] + 1) / (cells * (cells + 1) / 2)
    return chance
