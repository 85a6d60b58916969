"""DAWA, striped: stretches of about the same count along a curve share one noisy mean. Li, Hay, Miklau, Wang 2014.

The cells of a slice in the order of a Hilbert curve, which keeps near cells together, are cut into intervals. An
interval costs what its cells deviate from their mean, in sum of absolute values, plus 1 / epsilon_2 for the noise of
its sum. Stage 1 takes the cuts of least noisy cost, stage 2 measures the sum of every interval and spreads it.

Intervals have lengths of powers of two, as in the paper's fast variant, and here they begin at multiples of their
length: then the dynamic program over all cuts is one sweep up a binary tree (cut in the middle, or not at all), and
intervals are squares or pairs of them. On three slices of SF cabs that was better than beginning almost anywhere
(relative errors of 0.19 and 0.22 at epsilon 0.2). Stage 2 is plain Laplace noise: for queries of a few cells the
paper's workload-aware strategy is close to it.

Budget, per slice: epsilon_1 = epsilon / 4 for the cuts, epsilon_2 = 3/4 for the sums, the paper's. Stage 2 is
private, because intervals are disjoint. For stage 1 there are two noises:

- `published_noise` is that of the published code: scale (2 - 1 / length - 1 / cells) / epsilon_1, noisy deviations
  not below 0, none for single cells. It is charged as the paper charges it, but it is NOT epsilon_1-private: a ping
  in an empty slice makes each interval around it dearer by about one scale, and that all of them are cut asks for one
  unlikely sample each. The odds of the ping's cell to stay alone change by up to 2.65 epsilon_1 among 8 cells, and
  more among more. Published figures are of it.
- `proven_noise` is report noisy min. A ping changes the deviation of each interval around it by less than 2, and any
  set of cuts has one such interval. Given all other samples, some cuts are chosen where the sample of theirs is below
  a threshold, which moves by 4 at most: its own 2, and 2 of the best other cuts. So scale 4 / epsilon_1 for all, also
  for single cells, and no floor. As much is added to all costs: else the least of many noisy costs would be that of
  the smallest intervals, where nothing is to be told apart.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices

NoisyDeviations = Callable[[Floats, int, int, float, Account], Floats]
"""Adds noise to deviations of intervals: given these, their length, the number of cells, epsilon_1 and the account."""


def published_noise(deviations: Floats, length: int, cells: int, epsilon: float, account: Account) -> Floats:
    """Return noisy deviations as the published code has them. (I,) -> (I,)"""
    if length == 1:
        return deviations
    return np.maximum(deviations + account.laplace(deviations.shape, (2 - 1 / length - 1 / cells) / epsilon), 0.0)


def proven_noise(deviations: Floats, _length: int, _cells: int, epsilon: float, account: Account) -> Floats:
    """Return noisy deviations by which the least cost may be told, all larger by the noise's scale. (I,) -> (I,)"""
    scale = 4 / epsilon
    return deviations + scale + account.laplace(deviations.shape, scale)


@dataclass(frozen=True)
class Dawa:
    """Intervals of a Hilbert curve, slice by slice."""

    name: str = "dawa_striped"
    noise: NoisyDeviations = published_noise
    cut_share: float = 0.25  # epsilon_1

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the noisy mean of its interval for every cell. (T, M, M)"""
        return by_slices(self._estimate_slice, counts, account)

    def _estimate_slice(self, layer: Floats, account: Account) -> Floats:
        order = hilbert_order(len(layer))
        cut_epsilon = self.cut_share * account.epsilon
        begins = choose_cuts(layer.ravel()[order], cut_epsilon, account.epsilon - cut_epsilon, self.noise, account)
        lengths = np.diff(np.r_[begins, order.size])
        sums = account.measure(np.add.reduceat(layer.ravel()[order], begins), account.left)
        result = np.empty(order.size)
        result[order] = np.repeat(sums / lengths, lengths)
        return result.reshape(layer.shape)


def choose_cuts(
    values: Floats, epsilon: float, sum_epsilon: float, noise: NoisyDeviations, account: Account
) -> Integers:
    """Return where the intervals of least noisy cost begin, for epsilon; their sums will get `sum_epsilon`. (I,)

    Values are filled up with zeros to a power of two, and what begins behind their end is left out again.
    """
    account.charge(epsilon)
    cells = 1 << (values.size - 1).bit_length()
    padded = np.zeros(cells)
    padded[: values.size] = values
    best = np.full(cells, np.inf)  # there is nothing below single cells
    whole = []
    for length in (1 << level for level in range(cells.bit_length())):
        cost = noise(deviation(padded.reshape(-1, length)), length, cells, epsilon, account) + 1 / sum_epsilon
        best = best if length == 1 else best[0::2] + best[1::2]
        whole.append(cost <= best)
        best = np.minimum(cost, best)
    return _find_begins(whole, values.size)


def deviation(intervals: Floats) -> Floats:
    """Return the sum of absolute deviations from the mean of each interval. (I, length) -> (I,)"""
    total: Floats = np.abs(intervals - intervals.mean(axis=1, keepdims=True)).sum(axis=1)
    return total


def _find_begins(whole: Sequence[Mask], size: int) -> Integers:
    """Return the begins of the intervals that are left whole, going down from the root. `whole` has cells first."""
    open_ones, begins = np.zeros(1, dtype=np.int64), []
    for level in reversed(range(len(whole))):
        kept = whole[level][open_ones]
        begins.append(open_ones[kept] << level)
        cut = open_ones[~kept]
        open_ones = np.concatenate([2 * cut, 2 * cut + 1])
    found = np.sort(np.concatenate(begins))
    return found[found < size]


@cache
def hilbert_order(cells: int) -> Integers:
    """Return the numbers of a slice's cells along a Hilbert curve over the power of two around it. (M * M,)"""
    y, x = (axis.ravel() for axis in np.indices((cells, cells), dtype=np.int64))
    place = np.zeros(cells * cells, dtype=np.int64)
    side = 1 << (cells - 1).bit_length() >> 1
    while side:
        right, upper = (x & side) > 0, (y & side) > 0
        place += side * side * (3 * right.astype(np.int64) ^ upper)
        # The curve enters and leaves a quadrant at its lower corners: the lower two are mirrored and turned.
        flipped = right & ~upper
        x, y = np.where(flipped, ~x & (side - 1), x & (side - 1)), np.where(flipped, ~y & (side - 1), y & (side - 1))
        x, y = np.where(upper, x, y), np.where(upper, y, x)
        side >>= 1
    return np.argsort(place, kind="stable")
