"""What can be known about a cell of slice t without looking at its own noisy count.

Two kinds, and both are *blind*: nothing of the cell's own noise is in them. *Others* come from other slices only, so
they may be smoothed and combined in space at will. *Own* come from the cells around it in slice t: between the cells
of one slice they must not travel, or a cell would see itself in its neighbours' mirrors.

Every feature is a guess at the count or at a correction to it, in pings, so a regression can use it as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.denoise.estimation.evenly_spaced import spread_slices
from vdr_spark.denoise.estimation.fusion import Fusion
from vdr_spark.denoise.priors.activity import slice_activity
from vdr_spark.denoise.priors.leave_one_out import OtherSlices
from vdr_spark.denoise.priors.local_mean import neighbours, noise_left, smoothed
from vdr_spark.denoise.priors.rates import rates_prior
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress, Progress

_MEAN_WIDTHS = (0.0, 1.0, 2.0, 4.0, 8.0)  # cells; of the mean of all other slices
_BEST_WIDTHS = (0.0, 1.0, 3.0)  # of the best linear combination of the other slices
_NEAR_WIDTHS = (0.0, 1.0)  # of the slices next to this one, and of those a day away
_SURPRISE_WIDTHS = (0.6, 1.0, 2.0, 4.0, 8.0)  # of how far the cells around are from what was expected of them
_RATIO_WIDTHS = (1.0, 2.0, 4.0, 8.0)
_RESIDUAL_WIDTHS = (2.0, 4.0, 12.0)
_RIDGE = 1e-4  # of a slice's own variance: keeps the best combination from weighing noise against noise
_SLICES_TO_LEARN_FROM = 64  # are enough for a regression

Slices = NDArray[np.float32]
Image = NDArray[np.float32]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Seen:
    """All features of one slice, in pings, (C, M, M) each, and about the deviation of the noise in each, (C,)."""

    others: Image
    own: Image
    others_noise: Array
    own_noise: Array

    @property
    def all(self) -> Image:
        return np.concatenate([self.others, self.own])


class Features:
    """Of a noisy tensor (T, M, M). Holds a few tensors of that size; a slice's features are made when asked for."""

    def __init__(self, noisy: Slices, noise: Noise, slices_per_day: float, progress: Progress | None = None) -> None:
        progress = progress or NullProgress()
        self._noisy, self._noise = noisy, noise
        self._others = OtherSlices(noisy, slice_activity(noisy, noise.variance))
        self._combinations = {width: self._best_combination(width) for width in _BEST_WIDTHS} if len(noisy) > 2 else {}
        day = round(slices_per_day)
        self._steps = (1, day) if 1 < day <= len(noisy) / 2 and slices_per_day == day else (1,)
        self._rates = rates_prior(noisy, self._others, noise, progress)
        self.expected = self._from_others_alone(progress)
        """What the other slices together make of every cell. (T, M, M)"""
        self._fusion = Fusion.fitted(self.expected, noisy, noise)

    @property
    def to_learn_from(self) -> list[int]:
        """Slices, evenly spread."""
        return spread_slices(len(self._noisy), _SLICES_TO_LEARN_FROM)

    def of(self, t: int) -> Seen:
        others, others_noise = self._other_slices(t)
        own, own_noise = self._own_slice(t)
        others = np.concatenate([others, self.expected[t][None]])
        return Seen(others, own, np.append(others_noise, others_noise[0]), own_noise)  # as noisy as the rates

    def _from_others_alone(self, progress: Progress) -> Slices:
        """A regression of its own: the cells around are judged by how far they are from a good guess, not any guess."""
        if len(self._noisy) == 1:
            return self._rates
        regression = Regression.fitted(
            lambda t: self._other_slices(t)[0],
            self._rates,
            self._noisy,
            self._noise.variance,
            self.to_learn_from,
            progress,
        )
        expected = np.empty_like(self._noisy)
        for t, rates in enumerate(self._rates):
            expected[t] = regression.predict(self._other_slices(t)[0], rates)
        return expected

    def _other_slices(self, t: int) -> tuple[Image, Array]:
        """Features from other slices, and the deviation of the noise in each. (C, M, M), (C,)"""
        shared = self._share_of_mean(t)
        found: list[tuple[Image, float]] = [(self._rates[t], shared)]
        if len(self._noisy) > 1:
            mean = np.float32(self._others.activity[t]) * self._others.rate(t)
            found += [(smoothed(mean, width), shared * noise_left(width)) for width in _MEAN_WIDTHS]
            for width, weights in self._combinations.items():
                combined = np.tensordot(weights[t], self._noisy, axes=1)
                found.append((smoothed(combined, width), float((weights[t] ** 2).sum()) * noise_left(width)))
            for step in self._steps:
                near = self._near(t, step)
                found += [(smoothed(near, width), 0.5 * noise_left(width)) for width in _NEAR_WIDTHS]
        return self._stacked(found)

    def _own_slice(self, t: int) -> tuple[Image, Array]:
        """Features from the cells around in slice t, and the deviation of the noise in each. (C, M, M), (C,)"""
        expected, noisy = self.expected[t], self._noisy[t]
        posterior, _ = self._fusion.posterior(t, expected, noisy)
        surprise, residual = posterior - expected, noisy - expected
        found = [(neighbours(surprise, width), noise_left(width, with_own=False)) for width in _SURPRISE_WIDTHS]
        for width in _RATIO_WIDTHS:
            # So many times as busy as expected; half a ping more or less says nothing.
            above, below = (np.maximum(neighbours(image, width), 0) for image in (posterior, expected))
            ratio = (above + 0.5) / (below + 0.5)
            found.append((expected * (ratio - 1), noise_left(width, with_own=False)))
        found += [(neighbours(residual, width), noise_left(width, with_own=False)) for width in _RESIDUAL_WIDTHS]
        return self._stacked(found)

    def _stacked(self, found: list[tuple[Image, float]]) -> tuple[Image, Array]:
        images, shares = zip(*found, strict=True)
        # Never quite zero: combinations of empty slices have weight zero and hold no noise.
        noise = np.sqrt(self._noise.variance * np.array(shares)) + 1e-6
        return np.stack(images).astype(np.float32), noise

    def _share_of_mean(self, t: int) -> float:
        """Of a cell's noise variance, what is left in the mean of the other slices, as busy as this one."""
        return float(self._others.activity[t]) ** 2 / self._others.weight(t) if len(self._noisy) > 1 else 1.0

    def _near(self, t: int, step: int) -> Image:
        """The mean of the slices `step` before and after, as busy as this one; of one, where there is one only."""
        both = [s for s in (t - step, t + step) if 0 <= s < len(self._noisy)]
        activity = self._others.activity
        near: Image = np.mean([self._noisy[s] * (activity[t] / activity[s]) for s in both], axis=0)
        return near

    def _best_combination(self, width: float) -> NDArray[np.float32]:
        """Weights of the other slices in the best linear prediction of each, where all are smoothed. (T, T)

        With P the inverse of the slices' second moments, noise included, slice t is best predicted by weights
        -P[t, s] / P[t, t]. Cells count by how well they are known, so that the few largest do not speak for all.
        """
        mean = np.maximum(smoothed(self._noisy.mean(axis=0), max(width, 1.0)), 0)
        importance = 1 / (self._noise.variance * noise_left(width) + mean + mean**2 + 1e-9)
        smooth = np.stack([smoothed(counts, width).ravel() for counts in self._noisy])  # (T, M*M)
        moments = ((smooth * importance.ravel().astype(np.float32)) @ smooth.T).astype(np.float64)
        moments += (_RIDGE * np.trace(moments) / len(smooth) + 1e-12) * np.eye(len(smooth))
        precision = np.linalg.inv(moments)
        weights = -precision / np.diag(precision)[:, None]
        np.fill_diagonal(weights, 0)
        # Single precision: else every combination would make a copy of the tensor in double precision.
        single: NDArray[np.float32] = weights.astype(np.float32)
        return single
