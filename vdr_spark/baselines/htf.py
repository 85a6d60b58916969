"""HTF: a binary tree whose cuts leave both halves as even as possible. Shaham, Ghinita, Ahuja, Krumm, Shahabi 2021.

Blocks are cut across rows and columns in turn. A cut costs what the cells of each half deviate from their half's
mean, in sum of absolute values; one ping changes that by 2 at most, because it is in one half, whose mean it changes
too. Of some evenly spaced cuts the exponential mechanism takes one (the paper adds noise to the costs it looks at:
the same idea and a dearer search). The tree ends at height log2(N epsilon / 10), as many leaves as UG's rule has
blocks, at single cells, and where a noisy count says that nothing is left to divide.

Budget, per slice: 1 % for N; 30 % for the cuts, equal over the levels; the rest for counts, geometric over the levels
like Cormode's, and a leaf that comes early takes all that its way has left, the unused cuts' share too. (The paper
has these parts; the figures are chosen here.) Private, because the questions on a way from root to leaf are in
sequence and never cost more than epsilon (the account refuses), and the two halves of a block are disjoint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import TOTAL_SHARE, Counts, by_slices
from vdr_spark.baselines.quadtree import geometric_shares

_COST_SENSITIVITY = 2.0


@dataclass(frozen=True)
class _Shares:
    """What a question costs in a tree of a given height."""

    cut: float  # of one level
    counts: list[float]  # by depth, the leaves' last
    smallest: float  # count that is divided further

    @property
    def height(self) -> int:
        return len(self.counts) - 1


@dataclass(frozen=True)
class Htf:
    """A homogeneous tree per slice."""

    name: ClassVar[str] = "htf"

    cut_share: float = 0.3
    candidates: int = 8  # cuts that are looked at per block
    constant: float = 10.0  # pings times epsilon of a leaf; as UG's

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the leaves' noisy counts, spread over their cells. (T, M, M)"""
        return by_slices(self._estimate_slice, counts, account)

    def _estimate_slice(self, layer: Floats, account: Account) -> Floats:
        pings = account.count(layer.sum(), TOTAL_SHARE * account.epsilon)
        height = tree_height(pings, account.epsilon, self.constant)
        cuts = self.cut_share * account.left
        counts = geometric_shares(height, account.left - cuts)
        shares = _Shares(cuts / max(height, 1), counts, self.constant / account.epsilon)
        result = layer.copy()
        self._fill(result, 0, shares, account)
        return result

    def _fill(self, block: Floats, depth: int, shares: _Shares, account: Account) -> None:
        """Replace the exact counts of a block, a view, by estimates: one noisy mean, or both halves' own."""
        is_leaf = depth == shares.height or block.size == 1
        if not is_leaf:
            noisy = account.measure(block.sum(), shares.counts[depth])
            is_leaf = bool(noisy < shares.smallest)
        if is_leaf:
            block[:] = account.measure(block.sum(), account.left) / block.size
            return
        axis = depth % 2 if block.shape[depth % 2] > 1 else 1 - depth % 2
        across = np.moveaxis(block, axis, 0)
        cuts = candidate_cuts(len(across), self.candidates)
        cut = cuts[account.choose(-cut_costs(across, cuts), shares.cut, _COST_SENSITIVITY)]
        account.in_parallel(
            lambda half, part: self._fill(np.moveaxis(half, 0, axis), depth + 1, shares, part),
            (across[:cut], across[cut:]),
        )


def tree_height(pings: float, epsilon: float, constant: float) -> int:
    """Return h with 2^h leaves of constant / epsilon pings each, in the mean."""
    return max(math.floor(math.log2(max(pings * epsilon / constant, 1))), 0)


def candidate_cuts(length: int, count: int) -> Integers:
    """Return up to `count` evenly spaced places to cut a length, none at its ends."""
    return np.unique(np.linspace(0, length, count + 2).round()[1:-1].clip(1, length - 1)).astype(np.int64)


def cut_costs(block: Floats, cuts: Integers) -> Floats:
    """Return the absolute deviations from both halves' means, in sum, for cuts between rows. (H, W) -> (cuts,)"""
    return np.array([_deviation(block[:cut]) + _deviation(block[cut:]) for cut in cuts])


def _deviation(half: Floats) -> float:
    return float(np.abs(half - half.mean()).sum())
