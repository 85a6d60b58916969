"""PrivBayes: a Bayesian network over slice, row and column, learnt privately. Zhang et al. 2014 (SIGMOD).

Attributes are taken one after the other. Each gets as parents those before it, generalised (slices to periods, rows
and columns to bands, halving again and again) until its table of counts is theta-useful: no more than N epsilon_2 /
(2 d theta) cells, d = 3, theta = 4, so that counts stand out from noise. Of all largest such parent sets the
exponential mechanism takes one, by the score R: half of the L1 distance between the table and what independence would
make of it. Then the d tables are measured, negative entries become 0, and the estimate is N times the product of
their conditional distributions. (The paper samples records from it: that only adds noise.)

Budget: 1 % for N; of the rest beta = 0.3 for the structure, equal over the d - 1 choices, and 0.7 for the tables,
equal over the d. Private, because all are questions in sequence and a ping is in one entry of each table. The score
in pings, N R, changes by 2 at most with one ping: the table changes by 1, and a_x b_p / N by (3 N + 1) / (N + 1) < 3
in sum; half of that is below 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import TOTAL_SHARE, Counts
from vdr_spark.baselines.blocks import cut_evenly

_SCORE_SENSITIVITY = 2.0
_ATTRIBUTES = 3  # d: slice, row, column


@dataclass(frozen=True)
class Pair:
    """An attribute and its generalised parents: into how many bands each axis is cut, 1 where it is no parent."""

    axis: int
    bands: tuple[int, ...]  # (3,)

    @property
    def size(self) -> int:
        """The number of the table's entries."""
        return int(np.prod(self.bands))


@dataclass(frozen=True)
class PrivBayes:
    """A network of three attributes, over all slices together."""

    name: ClassVar[str] = "privbayes"

    structure_share: float = 0.3  # beta, the paper's
    theta: float = 4.0  # the paper's

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return N times the network's distribution. (T, M, M)"""
        pings = account.count(float(counts.sum(dtype=np.float64)), TOTAL_SHARE * account.epsilon)
        structure = self.structure_share * account.left
        tables = account.left - structure
        largest = pings * tables / (2 * _ATTRIBUTES * self.theta)
        pairs = self._choose_pairs(counts, largest, structure, account)
        estimate = np.full(counts.shape, pings, dtype=np.float32)
        for pair in pairs:
            noisy = account.measure(table_of(counts, pair.bands), tables / _ATTRIBUTES)
            estimate *= expand(conditional(noisy, pair.axis), counts.shape).astype(np.float32)
        return estimate

    def _choose_pairs(self, counts: Counts, largest: float, epsilon: float, account: Account) -> list[Pair]:
        """Return the network: a first attribute by chance, the others with their parents by the mechanism."""
        known = [int(account.random.integers(_ATTRIBUTES))]
        pairs = [_pair(known[0], counts.shape, (1, 1, 1))]
        while len(known) < _ATTRIBUTES:
            candidates = list(find_pairs(known, counts.shape, largest))
            scores = np.array([score(table_of(counts, pair.bands), pair.axis) for pair in candidates])
            chosen = candidates[account.choose(scores, epsilon / (_ATTRIBUTES - 1), _SCORE_SENSITIVITY)]
            pairs.append(chosen)
            known.append(chosen.axis)
        return pairs


def find_pairs(known: Sequence[int], shape: tuple[int, ...], largest: float) -> Iterator[Pair]:
    """Yield every attribute that is not known yet with all largest parent sets of theta-useful tables."""
    for axis in set(range(_ATTRIBUTES)) - set(known):
        levels = [_generalisations(shape[other]) if other in known else [1] for other in range(_ATTRIBUTES)]
        useful = [pair for bands in product(*levels) if (pair := _pair(axis, shape, bands)).size <= largest]
        yield from [one for one in useful if not any(_extends(other, one) for other in useful)] or [
            _pair(axis, shape, (1, 1, 1))
        ]


def _pair(axis: int, shape: tuple[int, ...], bands: tuple[int, ...]) -> Pair:
    return Pair(axis, tuple(shape[axis] if other == axis else band for other, band in enumerate(bands)))


def _generalisations(size: int) -> list[int]:
    """Return into how many bands an axis may be cut: 1, 2, 4, ..., and all."""
    return [1 << level for level in range((size - 1).bit_length())] + [size] if size > 1 else [1]


def _extends(other: Pair, one: Pair) -> bool:
    return other != one and all(theirs >= ours for theirs, ours in zip(other.bands, one.bands, strict=True))


def table_of(counts: Counts, bands: Sequence[int]) -> Floats:
    """Return the counts by bands of every axis. (T, M, M) -> bands"""
    edges = [cut_evenly(size, band)[:-1] for size, band in zip(counts.shape, bands, strict=True)]
    summed = np.add.reduceat(counts, edges[0], axis=0, dtype=np.float64)
    table: Floats = np.add.reduceat(np.add.reduceat(summed, edges[1], axis=1), edges[2], axis=2)
    return table


def score(table: Floats, axis: int) -> float:
    """Return N R: half of the L1 distance of a table from the product of its marginals, in pings."""
    others = tuple(other for other in range(table.ndim) if other != axis)
    own, parents = table.sum(axis=others, keepdims=True), table.sum(axis=axis, keepdims=True)
    return float(np.abs(table - own * parents / max(table.sum(), 1e-12)).sum() / 2)


def conditional(noisy: Floats, axis: int) -> Floats:
    """Return the distribution along an axis given the others, from a noisy table; even where nothing is left."""
    positive = np.maximum(noisy, 0.0)
    totals = positive.sum(axis=axis, keepdims=True)
    return np.where(totals > 0, positive / np.where(totals > 0, totals, 1.0), 1 / noisy.shape[axis])


def expand(table: Floats, shape: tuple[int, ...]) -> Floats:
    """Return a table by bands as one that broadcasts to all cells: axes of a single band stay single."""

    def widen(values: Floats, axis: int) -> Floats:
        bands = table.shape[axis]
        widths: Integers = np.diff(cut_evenly(shape[axis], bands))
        return values if bands == 1 else np.repeat(values, widths, axis=axis)

    return reduce(widen, range(len(shape)), table)
