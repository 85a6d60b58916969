"""Earlier windows as further slices: what denoisers are shown beside the slices of the present window.

A past slice is a slice like any other: noisy counts of the same cells, whose noise is independent. So a model that
learns a cell's rate, its rhythm and its own weights from the slices of one window learns them from several, and needs
nothing else. That bounds what is held by the slices, not by the windows: of many windows the latest ones serve.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.cost import MOST_CELLS_SHOWN
from vdr_spark.denoise.past.usual import Usual
from vdr_spark.grid import Grid
from vdr_spark.privacy.mechanism import Noise

_MOST_NOISE = 1.25  # times the deviation of the present window's; noisier windows tell little
_ALIKE = 1.1  # times, by which noise may differ and still pass for the same


@dataclass(frozen=True)
class EarlierWindow:
    """The noisy counts (T', M, M) of a window that is over, the noise in them, and its cells."""

    noisy: Slices
    noise: Noise
    grid: Grid


class PastEvidence:
    """The slices of earlier windows, ready to be shown beside those of the present one."""

    def __init__(self, windows: Sequence[EarlierWindow], noisy: Slices, noise: Noise, grid: Grid) -> None:
        """`windows` has at least one, the oldest first; `noisy` is the present window, (T, M, M)."""
        self.windows = len(windows)
        deviations = [noise.deviation, *(of.noise.deviation for of in windows)]
        self.has_like_noise = max(deviations) <= _ALIKE * min(deviations)
        """Whether fusion, which must know the noise, may learn from these slices too."""
        self.usual = Usual.of(windows, noisy, noise, grid)
        self._noisy = [of.noisy for of in windows]

    def before(self, noisy: Slices) -> Slices:
        """Return the slices of all windows in their order, those of the present one, (T, M, M), at the end."""
        return np.concatenate([*self._noisy, noisy])


def choose_latest(windows: Sequence[tuple[Grid, Noise]], grid: Grid, noise: Noise) -> list[int]:
    """Return which earlier windows, the oldest first, are shown beside a window: the latest, as many as there is room.

    A window that is much noisier than the present one is passed over.
    """
    chosen: list[int] = []
    room = MOST_CELLS_SHOWN - int(np.prod(grid.shape))
    for number in reversed(range(len(windows))):
        earlier, its_noise = windows[number]
        if its_noise.deviation > _MOST_NOISE * noise.deviation:
            continue
        room -= int(np.prod(earlier.shape))
        if room < 0:
            break
        chosen.append(number)
    return chosen[::-1]
