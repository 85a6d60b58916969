"""What places usually hold, by the latest windows: what the present one is compared with, to see where it changed.

A past slice speaks for the slices of the present window at the same hour of the day; where slices are whole days, at
the same day of the week; else for all of them. Noisy counts are summed with weights that forget fast: by the mean of
all windows a place that opened a month ago has hardly opened, and when it closes hardly anything is missed.

The noise of other windows is independent of this one's, so these sums are blind. Of the present window nothing is
looked at but its sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats, Image, Slices
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.grid import Grid
from vdr_spark.privacy.mechanism import Noise

if TYPE_CHECKING:
    from vdr_spark.denoise.past.evidence import EarlierWindow

_RHYTHMS = (timedelta(days=1), timedelta(days=7))
_KEPT = 0.6  # what a window weighs beside the next one
_STANDS_OUT = 3.0  # deviations of its noise, above which a window's sum says something
_SURE = 2.0  # variances of the noise, by which two levels must differ to be told apart


@dataclass(frozen=True)
class Usual:
    """Forgetting means of past slices by their phase, in pings of the present window's level."""

    counts: Slices  # (phases, M, M)
    variance: Floats  # of the noise in each phase; (phases,)
    activity: Floats  # how busy each is; (phases,)

    @classmethod
    def of(cls, windows: Sequence[EarlierWindow], noisy: Slices, noise: Noise, grid: Grid) -> Usual:
        """Return what is usual for the slices of a window, (T, M, M), by earlier ones."""
        level = _Level.of(noisy, noise)
        for period in _periods(grid):
            sums = _Sums(period, grid)
            for window in windows:
                sums.add(window, level.relative_to(_Level.of(window.noisy, window.noise)))
            if sums.is_whole:
                break
        counts, variance = sums.mean()
        return cls(counts, variance, estimate_activity(counts, float(variance.mean())))

    def at(self, t: int, activity: float) -> tuple[Image, float]:
        """Return what is usual for slice t, which is so busy, and the variance of the noise in it. (M, M)"""
        phase = t % len(self.counts)
        times = activity / float(self.activity[phase])
        return np.float32(times) * self.counts[phase], times**2 * float(self.variance[phase])

    def noise_of_sum(self, weights: Floats) -> float:
        """Return the variance of the noise in a weighted sum of what is usual for every slice. (T,)

        Slices of one phase have one noise too: in their sum it adds up.
        """
        phases = len(self.counts)
        of_phase = np.bincount(np.arange(len(weights)) % phases, weights, phases) / self.activity
        return float(of_phase**2 @ self.variance)


class _Sums:
    """Forgetting sums of past slices by their phase, counted from the first slice of the present window."""

    def __init__(self, period: int, grid: Grid) -> None:
        self._period, self._grid = period, grid
        phases = min(period, grid.slices)
        self._counts = np.zeros((phases, *grid.shape[1:]), np.float32)
        self._weights, self._variances = np.zeros(phases), np.zeros(phases)

    @property
    def is_whole(self) -> bool:
        """Whether every phase was seen."""
        return bool((self._weights > 0).all())

    def add(self, window: EarlierWindow, level: float) -> None:
        """Take in an earlier window, which is so many times less busy than the present one."""
        present, variance = self._grid, window.noise.variance
        age = (present.start - window.grid.start) / (present.end - present.start)
        # A ping more or less is chance, however little noise there is.
        weight = _KEPT**age / (level**2 * variance + 1)
        first = round((window.grid.start - present.start).total_seconds() / present.slice_seconds)
        for number, counts in enumerate(window.noisy, start=first):
            phase = number % self._period
            if phase < len(self._weights):  # else the present window has no such hour
                self._counts[phase] += np.float32(weight * level) * counts
                self._weights[phase] += weight
                self._variances[phase] += (weight * level) ** 2 * variance

    def mean(self) -> tuple[Slices, Floats]:
        """Return the means, (phases, M, M), and the variance of the noise in each."""
        counts: Slices = (self._counts / self._weights[:, None, None]).astype(np.float32)
        return counts, self._variances / self._weights**2


def _periods(grid: Grid) -> list[int]:
    """Return the rhythms in slices, the shortest that tells slices apart first; 1, at the end, is the mean of all."""
    whole = [rhythm.total_seconds() / grid.slice_seconds for rhythm in _RHYTHMS]
    return [*(int(slices) for slices in whole if slices > 1 and slices == int(slices)), 1]


@dataclass(frozen=True)
class _Level:
    """How many pings a slice of a window holds in the mean, and how well its noise lets that be known."""

    mean: float
    variance: float

    @classmethod
    def of(cls, noisy: Slices, noise: Noise) -> _Level:
        return cls(float(noisy.sum(dtype=np.float64)) / len(noisy), noise.variance * noisy[0].size / len(noisy))

    @property
    def stands_out(self) -> bool:
        return self.mean > _STANDS_OUT * math.sqrt(self.variance)

    def relative_to(self, other: _Level) -> float:
        """Return how many times as busy this window is; 1 as far as that may be noise. Another k shows here too.

        Of a window that does not stand out from its noise it is known that it holds no more than what would.
        """
        if not self.stands_out:
            return 1.0
        if not other.stands_out:
            return max(1.0, self.mean / max(_STANDS_OUT * math.sqrt(other.variance), 1e-9))
        more = self.mean / other.mean - 1
        variance = (1 + more) ** 2 * (self.variance / self.mean**2 + other.variance / other.mean**2)
        return 1 + more * max(0.0, 1 - _SURE * variance / more**2) if more else 1.0
