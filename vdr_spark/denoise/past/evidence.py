"""What the past says about a slice: guesses at its counts, for a regression that decides how far to believe them.

Every guess is scaled to how busy the slice is now. Nothing of the present window but that is in them.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vdr_spark.arrays import Floats, Image
from vdr_spark.denoise.past.memory import Memory, Recalled
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.local_mean import local_mean, remaining_variance

_FINEST_WIDTHS = (0.0, 1.0, 2.0)  # cells; of the same hour, slowly forgotten
_LATEST_WIDTHS = (0.0, 1.0)  # of the same, fast forgotten
_COARSER_WIDTHS = (0.0, 1.0)  # of the hour of the day, beside that of the week
_LONG_RUN_WIDTHS = (0.0, 1.0, 2.0)

Guess = tuple[Image, float]
"""A guess at the counts of a slice (M, M), and the variance of the noise in it."""


class PastEvidence:
    """What a memory holds, ready to be asked slice by slice."""

    def __init__(self, memory: Memory) -> None:
        """The memory must hold a window."""
        *finer, long_run = memory.recall()
        self.windows = memory.windows
        finest = (finer or [long_run])[0]
        self._lately = _Guesses((finer or [long_run])[-1].fast)
        self._guesses = [
            (_Guesses(finest.slow), _FINEST_WIDTHS),
            (_Guesses(finest.fast), _LATEST_WIDTHS),
            *((_Guesses(rhythm.slow), _COARSER_WIDTHS) for rhythm in finer[1:]),
            *([(_Guesses(long_run.slow), _LONG_RUN_WIDTHS)] if finer else []),
        ]

    def guesses(self, t: int, activity: float) -> list[Guess]:
        """Return what the past makes of slice t, which is so busy."""
        return [guess for guesses, widths in self._guesses for guess in guesses.of(t, activity, widths)]

    def lately(self, t: int, activity: float) -> Guess:
        """Return what the latest windows above all make of slice t, by the coarsest rhythm that tells hours apart."""
        return self._lately.at(t, activity)


class _Guesses:
    """Guesses by one rhythm, as busy as the slice they are for."""

    def __init__(self, recalled: Recalled) -> None:
        self._recalled = recalled
        self._activity: Floats = estimate_activity(recalled.counts, float(recalled.variance.mean()))

    def at(self, t: int, activity: float) -> Guess:
        phase = self._recalled.phase(t)
        times = activity / float(self._activity[phase])
        return np.float32(times) * self._recalled.counts[phase], times**2 * float(self._recalled.variance[phase])

    def of(self, t: int, activity: float, widths: Iterable[float]) -> Iterable[Guess]:
        counts, variance = self.at(t, activity)
        return [(local_mean(counts, width), variance * remaining_variance(width)) for width in widths]
