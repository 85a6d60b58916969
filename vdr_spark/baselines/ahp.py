"""AHP: cells of about the same count, wherever they lie, share one noisy mean. Zhang, Chen, Xu, Meng, Xie 2014.

A first noisy look at every cell: what is below eta log(cells) / epsilon_1 is taken for 0, the rest is sorted. Going
through it from large to small, the next value joins the cluster before it where the expected squared error gets
smaller by that: the squares of deviations from the mean, plus the noise's 2 / (epsilon_2^2 size). Then the exact sum
of every cluster is measured.

First looks are rounded to whole numbers, so values are few, and cells of one value stay together: apart they would
have more noise and no less deviation.

Budget: epsilon_1 is 0.85 of epsilon, epsilon_2 the rest, eta = 0.35, as DPBench (Hay et al. 2016) runs it. Private,
because the two are questions in sequence, cells are disjoint, clusters are, and what is in a cluster follows from the
noisy look alone. Clusters reach over all slices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Integers, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts

_LARGEST = 1 << 20  # looks beyond are taken for this: a table by value must end somewhere


@dataclass(frozen=True)
class Ahp:
    """Clusters of alike cells, over all slices."""

    name: ClassVar[str] = "ahp"

    look_share: float = 0.85  # epsilon_1
    eta: float = 0.35  # of the threshold

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the noisy mean of its cluster for every cell. (T, M, M)"""
        look = self.look_share * account.epsilon
        values = self._look(counts, look, account)
        clusters = cluster_values(np.bincount(values.ravel()), account.left)[values]
        sizes = np.bincount(clusters.ravel())
        sums = np.bincount(clusters.ravel(), weights=counts.ravel())
        means: Slices = (account.measure(sums, account.left) / sizes).astype(np.float32)
        return means[clusters]

    def _look(self, counts: Counts, epsilon: float, account: Account) -> NDArray[np.int32]:
        """Return the first noisy look at all cells, rounded, small values as 0. (T, M, M)"""
        threshold = self.eta * math.log(counts.size) / epsilon

        def look_at(layer: NDArray[Any], part: Account) -> NDArray[np.int32]:
            noisy = part.measure(layer, epsilon)
            return np.rint(np.where(noisy < threshold, 0, np.clip(noisy, 0, _LARGEST))).astype(np.int32)

        return np.stack(account.in_parallel(look_at, counts))


def cluster_values(cells: Integers, epsilon: float) -> Integers:
    """Return the cluster of every value, from how many cells show it; values next to each other may share one. (V,)"""
    present = np.flatnonzero(cells)[::-1]
    clusters, number = np.zeros(len(cells), dtype=np.int64), -1
    size = mean = squares = 0.0
    for value in present:
        added = float(cells[value])
        together = squares + added * size / max(size + added, 1) * (value - mean) ** 2
        if size and together + _noise(size + added, epsilon) <= squares + _noise(size, epsilon) + _noise(
            added, epsilon
        ):
            squares, mean = together, (size * mean + added * value) / (size + added)
            size += added
        else:
            size, mean, squares, number = added, float(value), 0.0, number + 1
        clusters[value] = number
    return clusters


def _noise(size: float, epsilon: float) -> float:
    """Return the expected squared error, over a cluster's cells, of the noise in its sum."""
    return 2 / (epsilon**2 * size)
