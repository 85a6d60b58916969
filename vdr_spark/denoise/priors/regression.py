"""A cell's count as what is expected of it plus a weighted sum of its blind features.

The weights are those that predict the noisy counts best, which are also those that predict the true ones best: noise
that is in no feature cannot be learnt. Cells that are expected to be busy have weights of their own, and so have cells
in empty, thin and busy surroundings (`denoise.statistics.surroundings`). The weights of a cell come from the cells of
other folds (`denoise.statistics.folds`), so they have not seen its noise.

A slice that is alone has few cells to learn from, and free weights follow their noise. Its features are means of counts
around the cell, so there weights are at least zero: a difference of two noisy means cannot be learnt.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from vdr_spark.arrays import Floats, Image, Integers, Slices
from vdr_spark.denoise.statistics import folds as folds_module
from vdr_spark.denoise.statistics import surroundings as surroundings_module
from vdr_spark.denoise.statistics.folds import Folds
from vdr_spark.denoise.statistics.surroundings import Surroundings
from vdr_spark.progress import NullProgress, Progress

_CLASS_EDGES = (0.05, 1.6, 50.0)  # pings expected in a cell
_CLASSES = len(_CLASS_EDGES) + 1
_DISPERSION = 3.0  # of counts around the prediction: how much less a busy cell's deviation says
_RIDGE = 1e-3  # of each feature's own weight
_CELLS_PER_WEIGHT = 50  # at least; fewer could be learnt by heart, noise and all
_LEAST_SHARE = 0.05  # of what was expected, that a prediction never falls below
_ROUNDS = 2  # of a slice alone: only a first prediction tells which cells are busy
_STEPS = 1000  # at most, to weights of at least zero: a few times as many as there are weights do

Group = tuple[int, ...]
"""Fold, surroundings and class of cells."""

FeaturesOf = Callable[[int], Image]
"""The features of a slice by its number, in pings. (C, M, M)"""


@dataclass(frozen=True)
class Regression:
    """Weights of features, for each fold of cells, surroundings, and class by how many pings are expected."""

    weights: Floats  # of the features; (folds, surroundings, classes, C)
    folds: Folds
    surroundings: Surroundings

    @classmethod
    def fit(
        cls,
        features_of: FeaturesOf,
        expected: Slices,
        noisy: Slices,
        noise_variance: float,
        slices: Sequence[int],
        surroundings: Surroundings,
        progress: Progress | None = None,
    ) -> Regression:
        """Fit the weights on the named slices of a tensor, expected and noisy, (T, M, M) each."""
        folds, moments = Folds(noisy.shape[1]), _no_moments()
        with (progress or NullProgress()).task("denoise: regression", len(slices)) as update:
            for number, t in enumerate(slices, start=1):
                features, before = _flat(features_of(t)), expected[t].ravel()
                precision, missing = _precision(before, noise_variance), noisy[t].ravel() - before
                for group, cells in _groups(before, folds, surroundings.of(t)):
                    moments[group].add(features[:, cells], missing[cells], precision[cells])
                update(number, "")
        return cls(_solve_all(moments, _Moments.solve), folds, surroundings)

    @classmethod
    def fit_alone(
        cls, features: Image, expected: Image, noisy: Image, noise_variance: float, surroundings: Surroundings
    ) -> Regression:
        """Fit weights of at least zero to the one slice there is. (C, M, M), (M, M), (M, M)

        The first feature is what is expected, which is the same for all cells.
        """
        folds, flat, mean = Folds(len(noisy)), _flat(features), expected
        for _ in range(_ROUNDS):
            moments, precision = _no_moments(), _precision(mean.ravel(), noise_variance)
            for group, cells in _groups(expected.ravel(), folds, surroundings.of(0)):
                moments[group].add(flat[:, cells], noisy.ravel()[cells], precision[cells])
            weights = _solve_all(moments, _Moments.solve_positive)
            weights[..., 0] -= 1  # a prediction is what is expected and more: here it is the weighted sum alone
            regression = cls(weights, folds, surroundings)
            mean = regression.predict(0, features, expected)
        return regression

    def predict(self, t: int, features: Image, expected: Image) -> Image:
        """Predict slice t from its features. (C, M, M), (M, M) -> (M, M)"""
        flat, before = _flat(features), expected.ravel()
        predicted = before.copy()
        for group, cells in _groups(before, self.folds, self.surroundings.of(t)):
            predicted[cells] += self.weights[group].astype(np.float32) @ flat[:, cells]
        return np.maximum(predicted, _LEAST_SHARE * np.maximum(before, 0)).reshape(expected.shape)


class _Moments:
    """Sums over the cells of one class, of which its weights follow."""

    def __init__(self) -> None:
        self._cells = 0
        self._squares: Floats = np.zeros((1, 1))  # (C, C)
        self._products: Floats = np.zeros(1)  # (C,)

    def add(self, features: Image, missing: Image, precision: Image) -> None:
        """Take in cells: their features (C, cells), what is missing, and how well that is known (cells,)."""
        weighted = features * precision  # (C, cells)
        self._cells += features.shape[1]
        self._squares = self._squares + (weighted @ features.T).astype(np.float64)
        self._products = self._products + (weighted @ missing).astype(np.float64)

    def __add__(self, other: _Moments) -> _Moments:
        both = _Moments()
        both._cells = self._cells + other._cells
        both._squares, both._products = self._squares + other._squares, self._products + other._products
        return both

    @property
    def are_enough(self) -> bool:
        """Whether there are cells enough for each weight."""
        return self._cells >= _CELLS_PER_WEIGHT * len(self._products)

    def solve(self) -> Floats:
        """Return the weights, zero where cells are too few. (C,)"""
        if not self.are_enough:
            return np.zeros_like(self._products)
        relative, products, size = self._relative()
        weights: Floats = np.linalg.solve(relative, products) / size
        return weights

    def solve_positive(self) -> Floats:
        """Return the best weights of at least zero; of the first feature alone where cells are too few. (C,)"""
        if not self.are_enough:
            weights: Floats = np.zeros_like(self._products)
            weights[0] = 1
            return weights
        relative, products, size = self._relative()
        root = np.linalg.cholesky(relative)  # |root.T x - y|^2 has the least x that x relative x - 2 x products has
        weights, _ = nnls(root.T, np.linalg.solve(root, products), maxiter=_STEPS)
        return weights / size

    def _relative(self) -> tuple[Floats, Floats, Floats]:
        """Return squares and products of features of size 1, and their sizes. (C, C), (C,), (C,)"""
        size = np.sqrt(np.diag(self._squares)) + 1e-12
        return self._squares / size / size[:, None] + _RIDGE * np.eye(len(size)), self._products / size, size


def _no_moments() -> dict[Group, _Moments]:
    return {group: _Moments() for group in np.ndindex(folds_module.NUMBER, surroundings_module.NUMBER, _CLASSES)}


def _precision(expected: Image, noise_variance: float) -> Image:
    """Return how well it is known what a cell misses, of which so much is expected. (cells,)"""
    precision: Image = np.reciprocal(noise_variance + expected + expected**2 / _DISPERSION + 1e-9)
    return precision


def _solve_all(moments: dict[Group, _Moments], solve: Callable[[_Moments], Floats]) -> Floats:
    """Return the weights of every fold by the cells of all other folds. (folds, surroundings, classes, C)"""
    return np.stack([_solve_fold(moments, fold, solve) for fold in range(folds_module.NUMBER)])


def _solve_fold(moments: dict[Group, _Moments], fold: int, solve: Callable[[_Moments], Floats]) -> Floats:
    """Return the weights of a fold by the cells of all other folds. (surroundings, classes, C)"""
    shape = (surroundings_module.NUMBER, _CLASSES)
    others = [
        [_sum_others(moments, fold, (surroundings, which)) for which in range(shape[1])]
        for surroundings in range(shape[0])
    ]
    everywhere = [reduce(operator.add, of_class) for of_class in zip(*others, strict=True)]
    pooled = [_pool_sparse(of if _any_enough(of) else everywhere) for of in others]
    return np.stack([np.stack([solve(of_class) for of_class in of]) for of in pooled])


def _sum_others(moments: dict[Group, _Moments], fold: int, group: tuple[int, int]) -> _Moments:
    """Return the moments of surroundings and class, summed over all folds but one."""
    return reduce(operator.add, (of for key, of in moments.items() if key[0] != fold and key[1:] == group))


def _any_enough(moments: list[_Moments]) -> bool:
    return any(of_class.are_enough for of_class in moments)


def _pool_sparse(moments: list[_Moments]) -> list[_Moments]:
    """Join classes of too few cells to the next ones: a few cells' noise could be learnt by heart."""
    pooled = list(moments)
    for place in range(len(pooled) - 1, 0, -1):  # from the busiest down
        if not pooled[place].are_enough:
            pooled[place - 1] += pooled[place]
    last = next((of_class for of_class in pooled if of_class.are_enough), pooled[0])
    for place, of_class in enumerate(pooled):
        last = pooled[place] = of_class if of_class.are_enough else last
    return pooled


def _flat(features: Image) -> Image:
    return features.reshape(len(features), -1)


def _groups(expected: Image, folds: Folds, surroundings: NDArray[np.int8]) -> Iterator[tuple[Group, Integers]]:
    """Yield fold, surroundings and class, and the numbers of the cells that belong to all three, if there are any."""
    shape = (folds_module.NUMBER, surroundings_module.NUMBER, _CLASSES)
    group = np.ravel_multi_index((folds.flat, surroundings.ravel(), np.searchsorted(_CLASS_EDGES, expected)), shape)
    order = np.argsort(group, kind="stable")
    ends = np.cumsum(np.bincount(group, minlength=int(np.prod(shape))))
    for key, cells in zip(np.ndindex(*shape), np.split(order, ends[:-1]), strict=True):
        if len(cells):
            yield key, cells
