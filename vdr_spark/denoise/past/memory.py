"""What earlier windows are remembered by: a few maps for every slice, however many windows there were.

A past slice speaks for the slices of the present window at the same hour of the week, for those at the same hour of the
day, and for all of them: three *rhythms*, as far as they are whole slices. For each, noisy counts are summed with
weights that forget old windows, slowly and fast, and that are the less the more noise a window holds. A window is
added and let go of, so memory does not grow with their number.

The noise of other windows is independent of this one's. So whatever is made of these sums is blind, and may be
smoothed at will. Of the present window nothing is looked at but its sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import timedelta

import numpy as np

from vdr_spark.arrays import Floats, Image, Slices
from vdr_spark.grid import Grid
from vdr_spark.privacy.mechanism import Noise

_RHYTHMS = (timedelta(days=7), timedelta(days=1))
_SLOWLY, _FAST = 0.97, 0.6  # what a window weighs beside the next one
_STANDS_OUT = 3.0  # deviations of its noise, above which a window's sum says something
_SURE = 2.0  # variances of the noise, by which two levels must differ to be told apart


@dataclass(frozen=True)
class Recalled:
    """Forgetting means of past slices by their phase, in pings of the present window's level."""

    counts: Slices  # (phases, M, M)
    variance: Floats  # of the noise in each phase; (phases,)

    def phase(self, t: int) -> int:
        """Return which phase speaks for slice t."""
        return t % len(self.counts)


@dataclass(frozen=True)
class Rhythm:
    """What is remembered of one rhythm, with slow and with fast forgetting."""

    slow: Recalled
    fast: Recalled


class Memory:
    """The past of one window, gathered window by window."""

    def __init__(self, noisy: Slices, noise: Noise, grid: Grid) -> None:
        """`noisy` is the present window, (T, M, M)."""
        self._grid, self._level = grid, _Level.of(noisy, noise)
        self._sums = [(_Sums(period, _SLOWLY, grid), _Sums(period, _FAST, grid)) for period in _periods(grid)]
        self.windows = 0

    def add(self, noisy: Slices, noise: Noise, grid: Grid) -> None:
        """Take in an earlier window of the same cells, (T', M, M)."""
        level = self._level.relative_to(_Level.of(noisy, noise))
        age = (self._grid.start - grid.start) / (self._grid.end - self._grid.start)
        first = round((grid.start - self._grid.start).total_seconds() / grid.slice_seconds)
        for both in self._sums:
            for sums in both:
                for number, counts in enumerate(noisy, start=first):
                    sums.add(number, counts, level, noise.variance, age)
        self.windows += 1

    def recall(self) -> list[Rhythm]:
        """Return the rhythms of which every phase was seen, the finest first."""
        return [Rhythm(slow.mean(), fast.mean()) for slow, fast in self._sums if slow.is_whole]


class _Sums:
    """Forgetting sums of past slices by their phase, counted from the first slice of the present window."""

    def __init__(self, period: int, kept: float, grid: Grid) -> None:
        self._period, self._kept = period, kept
        phases = min(period, grid.slices)
        self._counts = np.zeros((phases, *grid.shape[1:]), np.float32)
        self._weights, self._variances = np.zeros(phases), np.zeros(phases)

    @property
    def is_whole(self) -> bool:
        return bool((self._weights > 0).all())

    def add(self, number: int, counts: Image, level: float, variance: float, age: float) -> None:
        phase = number % self._period
        if phase < len(self._weights):  # else the present window has no such hour
            # A ping more or less is chance, however little noise there is.
            weight = self._kept**age / (level**2 * variance + 1)
            self._counts[phase] += np.float32(weight * level) * counts
            self._weights[phase] += weight
            self._variances[phase] += (weight * level) ** 2 * variance

    def mean(self) -> Recalled:
        counts: Slices = (self._counts / self._weights[:, None, None]).astype(np.float32)
        return Recalled(counts, self._variances / self._weights**2)


def _periods(grid: Grid) -> list[int]:
    """Return the rhythms in slices, the longest first; 1 is the mean of all."""
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
            return max(1.0, self.mean / (_STANDS_OUT * math.sqrt(other.variance)))
        more = self.mean / other.mean - 1
        variance = (1 + more) ** 2 * (self.variance / self.mean**2 + other.variance / other.mean**2)
        return 1 + more * max(0.0, 1 - _SURE * variance / more**2) if more else 1.0
