"""What the past says about a slice: guesses at its counts, for a regression that decides how far to believe them.

Every guess is scaled to how busy the slice is now. One kind is *corrected*: where the present window, in its other
slices, departs from the long-run mean by more than noise and chance explain, that mean is moved to where the window is.
A street that was closed is empty there at once, a new district full, and a regression that believes the past elsewhere
does no harm in them. Nothing of slice t itself is in its guesses.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vdr_spark.arrays import Floats, Image
from vdr_spark.denoise.past.memory import Memory, Recalled
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.local_mean import local_mean, remaining_variance
from vdr_spark.denoise.statistics.subsets import LeaveOneOut

_FINEST_WIDTHS = (0.0, 1.0, 2.0)  # cells; of the same hour, slowly forgotten
_LATEST_WIDTHS = (0.0, 1.0)  # of the same, fast forgotten
_COARSER_WIDTHS = (0.0, 1.0)  # of the hour of the day, beside that of the week
_LONG_RUN_WIDTHS = (0.0, 1.0, 2.0)
_DEPARTURE_WIDTHS = (1.0, 3.0)  # over which the window is compared with the long-run mean
_CORRECTED_WIDTH = 0.7
_SURE = 3.0  # deviations of noise and chance, below which a departure is none

Guess = tuple[Image, float]
"""A guess at the counts of a slice (M, M), and the variance of the noise in it."""


class PastEvidence:
    """What a memory holds, ready to be asked slice by slice."""

    def __init__(self, memory: Memory) -> None:
        """The memory must hold a window."""
        *finer, long_run = memory.recall()
        self.windows = memory.windows
        finest = (finer or [long_run])[0]
        self._guesses = [
            (_Guesses(finest.slow), _FINEST_WIDTHS),
            (_Guesses(finest.fast), _LATEST_WIDTHS),
            *((_Guesses(rhythm.slow), _COARSER_WIDTHS) for rhythm in finer[1:]),
            *([(_Guesses(long_run.slow), _LONG_RUN_WIDTHS)] if finer else []),
        ]
        self._long_run = long_run.slow

    def guesses(self, t: int, others: LeaveOneOut, noise_variance: float) -> list[Guess]:
        """Return what the past makes of slice t; `others` are the other slices of the window."""
        activity = float(others.activity[t])
        found = [guess for guesses, widths in self._guesses for guess in guesses.of(t, activity, widths)]
        return found if len(others.activity) == 1 else [*found, *self._corrected(t, others, noise_variance)]

    def _corrected(self, t: int, others: LeaveOneOut, noise_variance: float) -> Iterable[Guess]:
        """Yield the long-run mean, moved to where the window departs from it."""
        mean, activity = self._long_run.counts[0], float(others.activity[t])
        own, past = noise_variance / others.weight(t), float(self._long_run.variance[0])
        chance = np.maximum(local_mean(mean, 1.0), 0) / len(others.activity)
        departure = others.rate(t) - mean
        for width in _DEPARTURE_WIDTHS:
            away = local_mean(departure, width)
            unsure = _SURE**2 * (own + past + chance) * remaining_variance(width)
            moved = mean + away * np.maximum(0, 1 - unsure / np.maximum(away**2, 1e-12))
            variance = activity**2 * past * remaining_variance(_CORRECTED_WIDTH)
            yield np.float32(activity) * local_mean(moved.astype(np.float32), _CORRECTED_WIDTH), variance


class _Guesses:
    """Guesses by one rhythm, as busy as the slice they are for."""

    def __init__(self, recalled: Recalled) -> None:
        self._recalled = recalled
        self._activity: Floats = estimate_activity(recalled.counts, float(recalled.variance.mean()))

    def of(self, t: int, activity: float, widths: Iterable[float]) -> Iterable[Guess]:
        phase = self._recalled.phase(t)
        times = activity / float(self._activity[phase])
        counts = np.float32(times) * self._recalled.counts[phase]
        variance = times**2 * float(self._recalled.variance[phase])
        return [(local_mean(counts, width), variance * remaining_variance(width)) for width in widths]
