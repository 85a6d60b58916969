"""MWEM: a distribution that learns the worst answered queries one by one. Hardt, Ligett, McSherry 2012.

It begins even. In every round the exponential mechanism takes a query that the distribution A answers badly, Laplace
noise measures it, and multiplicative weights change the cells inside: A(x) *= exp((measured - q(A)) / (2 N)), then A
sums to N again. As the authors advise, all measurements so far are gone through several times per round.

Queries are random boxes, with sides and lengths from one cell to all, of public randomness. Few rounds on millions of
cells learn the rough shape of a city and no more.

Budget: 1 % for N, the rest in equal parts for the rounds, half of each to choose and half to measure, as in the
paper. Private, because all are questions in sequence: a ping changes one box's count, and so the error of its answer,
by 1 at most.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import TOTAL_SHARE, Counts

_WORKLOAD_SEED = 0  # the queries are public
_FAR = 1e12  # of a scale from 1: well inside what float32 holds


@dataclass(frozen=True)
class Mwem:
    """Multiplicative weights over all slices together."""

    name: ClassVar[str] = "mwem"

    rounds: int = 10
    sweeps: int = 10  # through the measurements, in each round
    queries: int = 2000

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the learnt distribution, times N. (T, M, M)"""
        pings = max(account.count(float(counts.sum(dtype=np.float64)), TOTAL_SHARE * account.epsilon), 1.0)
        boxes = random_boxes(counts.shape, self.queries, np.random.default_rng(_WORKLOAD_SEED))
        exact, share = answer(counts, boxes), account.left / (2 * self.rounds)
        model = _Model(np.full(counts.shape, pings / counts.size, dtype=np.float32), pings)
        measured: list[tuple[Integers, float]] = []
        for _ in range(self.rounds):
            errors = np.abs(exact - model.scale * answer(model.weights, boxes))
            chosen = account.choose(errors, share, 1.0)
            measured.append((boxes[chosen], float(account.measure(exact[chosen], share))))
            for _ in range(self.sweeps):
                for box, value in measured:
                    model.update(box, value)
        return model.weights * np.float32(model.scale)


@dataclass
class _Model:
    """A = scale * weights, which always sums to N: the scale saves a pass over all cells per update."""

    weights: Slices
    pings: float
    scale: float = 1.0

    def update(self, box: Integers, value: float) -> None:
        """Move the cells of a box towards a measured count, and all cells so that they sum to N."""
        inside = self.weights[box_slices(box)]
        before = self.scale * float(inside.sum(dtype=np.float64))
        factor = math.exp(float(np.clip((value - before) / (2 * self.pings), -1, 1)))
        inside *= np.float32(factor)
        self.scale *= self.pings / (self.pings + (factor - 1) * before)
        if not 1 / _FAR < self.scale < _FAR:  # where N came out far too small, weights would grow beyond all numbers
            self.weights *= np.float32(self.scale)
            self.scale = 1.0


def random_boxes(shape: tuple[int, ...], count: int, random: np.random.Generator) -> Integers:
    """Return boxes as begins and ends along all axes, sides of all orders of magnitude alike. (Q, axes, 2)"""
    sides = np.column_stack([np.exp(random.uniform(0, math.log(size + 1), count)).astype(np.int64) for size in shape])
    sides = np.clip(sides, 1, shape)
    begins = random.integers(0, np.array(shape) - sides + 1)
    return np.stack([begins, begins + sides], axis=-1)


def box_slices(box: Integers) -> tuple[slice, ...]:
    """Return a box as what indexes its cells."""
    return tuple(slice(begin, end) for begin, end in box)


def answer(tensor: Counts, boxes: Integers) -> Floats:
    """Return the sums over boxes, by one table of sums up to every corner. (T, M, M), (Q, 3, 2) -> (Q,)"""
    table = np.zeros(tuple(size + 1 for size in tensor.shape))
    table[1:, 1:, 1:] = tensor
    for axis in range(3):
        np.cumsum(table, axis=axis, out=table)
    result = np.zeros(len(boxes))
    for corner in np.ndindex(2, 2, 2):
        sign = (-1) ** (3 - sum(corner))
        result += sign * table[tuple(boxes[:, axis, end] for axis, end in enumerate(corner))]
    return result
