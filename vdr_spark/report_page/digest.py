"""Sums of a release that several parts of the report look at: each of them is added up once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.release.release import Release

_FEW_SLICES = 4  # that stand for all: reading errors off more of them would change no digit that is shown


@dataclass(frozen=True)
class Digest:
    """A release and its sums."""

    release: Release

    @cached_property
    def totals(self) -> Floats:
        """Pings of every slice. (T,)"""
        totals: Floats = np.array([layer.sum(dtype=np.float64) for layer in self.release.counts])
        return totals

    @cached_property
    def period(self) -> Floats:
        """Pings of every cell over the whole period. (M, M)"""
        return _add(self.release.counts, power=1)

    @cached_property
    def period_variance(self) -> Floats | None:
        """The cells' own variances added up over the whole period, where there are error bars. (M, M)"""
        return None if self.release.deviation is None else _add(self.release.deviation, power=2)

    @cached_property
    def few_slices(self) -> list[int]:
        """Some slices at equal steps from the quietest to the busiest, in order of time."""
        steps = np.linspace(0, len(self.totals) - 1, min(_FEW_SLICES, len(self.totals))).round().astype(int)
        return sorted(np.argsort(self.totals, kind="stable")[steps].tolist())


def _add(layers: Slices, power: int) -> Floats:
    """Return the sum of slices, of their squares with a power of 2, slice by slice: no second tensor is made."""
    total: Floats = np.zeros(layers.shape[1:], dtype=np.float64)
    for layer in layers:
        total += layer.astype(np.float64) ** power
    return total
