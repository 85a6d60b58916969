"""A cell's count as what is expected of it plus a weighted sum of its blind features.

The weights are those that predict the noisy counts best, which are also those that predict the true ones best: noise
that is in no feature cannot be learnt. Cells that are expected to be busy have weights of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Image, Integers, Slices
from vdr_spark.progress import NullProgress, Progress

_CLASS_EDGES = (0.05, 1.6, 50.0)  # pings expected in a cell
_DISPERSION = 3.0  # of counts around the prediction: how much less a busy cell's deviation says
_RIDGE = 1e-3  # of each feature's own weight
_CELLS_PER_WEIGHT = 50  # at least; fewer could be learnt by heart, noise and all
_LEAST_SHARE = 0.05  # of what was expected, that a prediction never falls below

FeaturesOf = Callable[[int], Image]
"""The features of a slice by its number, in pings. (C, M, M)"""


@dataclass(frozen=True)
class Regression:
    """Weights of features, for each class of cells by how many pings are expected."""

    weights: Floats  # of the features, by how many pings are expected; (classes, C)

    @classmethod
    def fit(
        cls,
        features_of: FeaturesOf,
        expected: Slices,
        noisy: Slices,
        noise_variance: float,
        slices: Sequence[int],
        progress: Progress | None = None,
    ) -> Regression:
        """Fit the weights on the named slices of a tensor, expected and noisy, (T, M, M) each."""
        moments = [_Moments() for _ in range(len(_CLASS_EDGES) + 1)]
        with (progress or NullProgress()).task("denoise: regression", len(slices)) as update:
            for number, t in enumerate(slices, start=1):
                features = _flat(features_of(t))
                before = expected[t].ravel()
                precision = 1 / (noise_variance + before + before**2 / _DISPERSION + 1e-9)
                missing = noisy[t].ravel() - before
                for of_class, cells in zip(moments, _classes(before), strict=True):
                    of_class.add(features[:, cells], missing[cells], precision[cells])
                update(number, "")
        return cls(np.stack([of_class.solve() for of_class in _pool_sparse(moments)]))

    def predict(self, features: Image, expected: Image) -> Image:
        """Predict one slice from its features. (C, M, M), (M, M) -> (M, M)"""
        flat, before = _flat(features), expected.ravel()
        predicted = before.copy()
        for weights, cells in zip(self.weights, _classes(before), strict=True):
            predicted[cells] += weights.astype(np.float32) @ flat[:, cells]
        return np.maximum(predicted, _LEAST_SHARE * np.maximum(before, 0)).reshape(expected.shape)


class _Moments:
    """Sums over the cells of one class, of which its weights follow."""

    def __init__(self) -> None:
        self._cells = 0
        self._squares: Floats = np.zeros(())  # (C, C)
        self._products: Floats = np.zeros(())  # (C,)

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
        size = np.sqrt(np.diag(self._squares)) + 1e-12
        relative = self._squares / size / size[:, None] + _RIDGE * np.eye(len(size))
        weights: Floats = np.linalg.solve(relative, self._products / size) / size
        return weights


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


def _classes(expected: Image) -> list[Integers]:
    """Return the cells of each class."""
    classes = np.searchsorted(_CLASS_EDGES, expected)
    return [np.flatnonzero(classes == which) for which in range(len(_CLASS_EDGES) + 1)]
