"""What can be known about a cell of slice t without looking at its own noisy count.

Two kinds, and both are *blind*: nothing of the cell's own noise is in them. *Others* come from other slices only, so
they may be smoothed and combined in space at will; slices of earlier windows are among them, where there are any
(`denoise.past`). *Own* come from the cells around it in slice t: between the cells of one slice they must not travel,
or a cell would see itself mirrored in the cells around it. Of a slice that is alone they are means of the noisy counts
around the cell at many widths: there is nothing to be surprised by.

Every feature is a guess at the count or at a correction to it, in pings, so a regression can use it as it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Image, Slices
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.priors.rates import rates_prior
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.folds import NUMBER, Folds
from vdr_spark.denoise.statistics.local_mean import (
    local_mean,
    local_mean_excluding_self,
    remaining_variance,
    wide_local_mean,
    wide_local_mean_excluding_self,
)
from vdr_spark.denoise.statistics.subsets import LeaveOneOut, evenly_spaced
from vdr_spark.denoise.statistics.surroundings import Surroundings
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress, Progress

_MEAN_WIDTHS = (0.0, 1.0, 2.0, 4.0)  # cells; of the mean of all other slices
_COUNTRY_WIDTHS = (8.0, 16.0, 32.0)  # likewise
_BEST_WIDTHS = (0.0, 1.0, 3.0)  # of the best linear combination of the other slices
_NEAR_WIDTHS = (0.0, 1.0)  # of the slices next to this one, and of those a day away
_SURPRISE_WIDTHS = (0.6, 1.0, 2.0, 4.0, 8.0)  # of how far the cells around are from what was expected of them
_RATIO_WIDTHS = (1.0, 2.0, 4.0, 8.0)
_RESIDUAL_WIDTHS = (2.0, 4.0, 12.0)
_ALONE_WIDTHS = (0.6, 1.0, 2.0, 4.0)  # of the noisy counts around a cell, where there is but one slice
_ALONE_WIDE = (8.0, 16.0, 32.0)  # likewise; the edges are mirrored
_RIDGE = 1e-4  # of a slice's own variance: keeps the best combination from weighing noise against noise
_REACH = 4  # widths beyond which a smoothed value is not looked at
_CELLS_PER_WEIGHT = 5  # at least, of a combination
_TRAINING_SLICES = 64  # are enough for a regression


@dataclass(frozen=True)
class SliceFeatures:
    """All features of one slice, in pings, (C, M, M) each, and about the deviation of the noise in each, (C,)."""

    others: Image
    own: Image
    others_noise: Floats
    own_noise: Floats
    regressed: Image
    """Those that the regression of `ridge` joins."""


class Features:
    """The features of a noisy tensor (T, M, M). Holds a few tensors of that size; a slice's are made when asked for."""

    def __init__(
        self,
        noisy: Slices,
        noise: Noise,
        slices_per_day: float,
        progress: Progress | None = None,
    ) -> None:
        progress = progress or NullProgress()
        self._noisy, self._noise = noisy, noise
        self._folds = Folds(noisy.shape[1])
        self._others = LeaveOneOut(noisy, estimate_activity(noisy, noise.variance))
        self.surroundings = Surroundings(noisy, noise.variance, self._others)
        self._combinations = {width: self._combine(width) for width in _BEST_WIDTHS} if len(noisy) > 2 else {}
        day = round(slices_per_day)
        self._steps = (1, day) if 1 < day <= len(noisy) / 2 and slices_per_day == day else (1,)
        self._rates = rates_prior(noisy, self._others, noise, progress)
        self.expected = self._predict_from_others(progress)
        """What the other slices together make of every cell. (T, M, M)"""
        self._fusion = Fusion.fit(self.expected, noisy, noise)

    @property
    def training_slices(self) -> list[int]:
        """The slices that a regression learns from, evenly spaced."""
        return evenly_spaced(len(self._noisy), _TRAINING_SLICES)

    def regressed(self, t: int) -> Image:
        """Return the features of slice t that the regression of `ridge` joins, and make no others. (C, M, M)"""
        if len(self._noisy) == 1:
            return self.of(t).regressed
        return self._join(t, self._own_slice(t)[0])

    def of(self, t: int) -> SliceFeatures:
        """Return the features of slice t."""
        others, others_noise = self._other_slices(t)
        own, own_noise = self._own_slice(t)
        others = np.concatenate([others, self.expected[t][None]])
        others_noise = np.append(others_noise, others_noise[0])  # as noisy as the rates
        is_lone = len(self._noisy) == 1
        regressed = np.concatenate([others, own]) if is_lone else self._join(t, own)
        return SliceFeatures(others, own, others_noise, own_noise, regressed)

    def _join(self, t: int, own: Image) -> Image:
        """Return what the regression of `ridge` joins. (C, M, M)

        What other slices say is in what is expected of the cells already, by weights of other folds. To offer all of it
        once more would undo the folds: such an expectation lies a little away from the noise of its own fold, so a
        regression on both takes the difference and turns it round, and leans towards the cell's own noise. Offered
        again are the widest means, the best combinations, whose weights are of other folds too, and the expectation.
        """
        again, _ = self._stack(self._told_again(t))
        return np.concatenate([again, self.expected[t][None], own])

    def _predict_from_others(self, progress: Progress) -> Slices:
        """Predict by a regression of its own: the cells around are judged by how far they are from that. (T, M, M)"""
        if len(self._noisy) == 1:
            return self._rates
        regression = Regression.fit(
            lambda t: self._other_slices(t)[0],
            self._rates,
            self._noisy,
            self._noise.variance,
            self.training_slices,
            self.surroundings,
            progress,
        )
        expected = np.empty_like(self._noisy)
        for t, rates in enumerate(self._rates):
            expected[t] = regression.predict(t, self._other_slices(t)[0], rates)
        return expected

    def _other_slices(self, t: int) -> tuple[Image, Floats]:
        """Return features from other slices, and the deviation of the noise in each. (C, M, M), (C,)"""
        rates = (self._rates[t], self._share_of_mean(t))
        if len(self._noisy) == 1:
            return self._stack([rates])
        return self._stack([rates, *self._means(t, _MEAN_WIDTHS), *self._told_again(t), *self._around(t)])

    def _told_again(self, t: int) -> list[tuple[Image, float]]:
        """Return those that `_join` offers again, and the share of a cell's noise variance in each."""
        combinations = self._combinations.items()
        combined = [(of[t], float(shares[t]) * remaining_variance(width)) for width, (of, shares) in combinations]
        return [*self._means(t, _COUNTRY_WIDTHS), *combined]

    def _means(self, t: int, widths: Iterable[float]) -> list[tuple[Image, float]]:
        """Return means of all other slices, as busy as this one."""
        shared, mean = self._share_of_mean(t), np.float32(self._others.activity[t]) * self._others.rate(t)
        return [(wide_local_mean(mean, width), shared * remaining_variance(width)) for width in widths]

    def _around(self, t: int) -> list[tuple[Image, float]]:
        """Return means of the slices next to this one, and of those a day away."""
        near = [self._near(t, step) for step in self._steps]
        return [(local_mean(of, width), 0.5 * remaining_variance(width)) for of in near for width in _NEAR_WIDTHS]

    def _own_slice(self, t: int) -> tuple[Image, Floats]:
        """Return features from the cells around in slice t, and the deviation of the noise in each. (C, M, M), (C,)"""
        if len(self._noisy) == 1:
            return self._slice_alone()
        expected, noisy = self.expected[t], self._noisy[t]
        posterior, _ = self._fusion.posterior(t, expected, noisy)
        surprise, residual = posterior - expected, noisy - expected
        features = [
            (local_mean_excluding_self(surprise, width), remaining_variance(width, with_self=False))
            for width in _SURPRISE_WIDTHS
        ]
        for width in _RATIO_WIDTHS:
            # So many times as busy as expected; half a ping more or less says nothing.
            above, below = (np.maximum(local_mean_excluding_self(image, width), 0) for image in (posterior, expected))
            ratio = (above + 0.5) / (below + 0.5)
            features.append((expected * (ratio - 1), remaining_variance(width, with_self=False)))
        features += [
            (local_mean_excluding_self(residual, width), remaining_variance(width, with_self=False))
            for width in _RESIDUAL_WIDTHS
        ]
        return self._stack(features)

    def _slice_alone(self) -> tuple[Image, Floats]:
        """Return means around each cell of the one slice, and the deviation of the noise in each. (C, M, M), (C,)"""
        around = [local_mean_excluding_self(self._noisy[0], width) for width in _ALONE_WIDTHS]
        around += [wide_local_mean_excluding_self(self._noisy[0], width) for width in _ALONE_WIDE]
        widths = (*_ALONE_WIDTHS, *_ALONE_WIDE)
        shares = [remaining_variance(width, with_self=False) for width in widths]
        return self._stack(list(zip(around, shares, strict=True)))

    def _stack(self, features: list[tuple[Image, float]]) -> tuple[Image, Floats]:
        images, shares = zip(*features, strict=True)
        # Never quite zero: combinations of empty slices have weight zero and hold no noise.
        noise = np.sqrt(self._noise.variance * np.array(shares)) + 1e-6
        return np.stack(images).astype(np.float32), noise

    def _share_of_mean(self, t: int) -> float:
        """Return what is left of a cell's noise variance in the mean of the other slices, as busy as this one."""
        return float(self._others.activity[t]) ** 2 / self._others.weight(t) if len(self._noisy) > 1 else 1.0

    def _near(self, t: int, step: int) -> Image:
        """Return the mean of the slices `step` before and after, as busy as this one; of one, where only one is."""
        both = [s for s in (t - step, t + step) if 0 <= s < len(self._noisy)]
        activity = self._others.activity
        near: Image = np.mean([self._noisy[s] * np.float32(activity[t] / activity[s]) for s in both], axis=0)
        return near

    def _combine(self, width: float) -> tuple[Slices, Floats]:
        """Return the best combination of the other slices for each, smoothed, and its share of a cell's noise variance.

        (T, M, M), (T,). Every fold has weights of its own, also over what lies around it and is smoothed into it.
        """
        weights, flat = self._best_combination(width), self._noisy.reshape(len(self._noisy), -1)
        combined, around = np.zeros_like(self._noisy), np.zeros(flat.shape[1], np.float32)
        for fold in np.unique(self._folds.of_cell):
            inside = self._folds.of_cell == fold
            near = np.flatnonzero(~self._folds.elsewhere(fold, _REACH * width + 1))
            parts = weights[fold] @ flat[:, near]  # (T, near)
            for t, part in enumerate(parts):
                around[near] = part
                combined[t][inside] = local_mean(around.reshape(inside.shape), width)[inside]
        return combined, (weights.astype(np.float64) ** 2).sum(axis=-1).mean(axis=0)

    def _best_combination(self, width: float) -> Image:
        """Return the weights of the other slices in the best linear prediction of each. (folds, T, T)

        All slices are smoothed. With P the inverse of their second moments, noise included, slice t is best predicted
        by weights -P[t, s] / P[t, t]. Cells count by how well they are known, so that the few largest do not speak for
        all; and those in a fold, or near enough to share its noise, do not speak for the fold.
        """
        mean = np.maximum(local_mean(self._noisy.mean(axis=0), max(width, 1.0)), 0)
        importance = 1 / (self._noise.variance * remaining_variance(width) + mean + mean**2 + 1e-9)
        smooth = np.stack([local_mean(counts, width).ravel() for counts in self._noisy])  # (T, M*M)
        weights = np.zeros((NUMBER, len(smooth), len(smooth)), np.float32)
        for fold in np.unique(self._folds.of_cell):
            training = np.flatnonzero(self._folds.elsewhere(fold, 2 * width))
            if len(training) >= _CELLS_PER_WEIGHT * len(smooth):
                weights[fold] = _predict_each(smooth[:, training], importance.ravel()[training])
        return weights


def _predict_each(slices: Image, importance: Image) -> Image:
    """Return the weights of the other rows in the best linear prediction of each. (T, cells), (cells,) -> (T, T)"""
    moments = ((slices * importance.astype(np.float32)) @ slices.T).astype(np.float64)
    moments += (_RIDGE * np.trace(moments) / len(moments) + 1e-12) * np.eye(len(moments))
    precision = np.linalg.inv(moments)
    weights = -precision / np.diag(precision)[:, None]
    np.fill_diagonal(weights, 0)
    # Single precision: else every combination would make a copy of the tensor in double precision.
    single: Image = weights.astype(np.float32)
    return single
