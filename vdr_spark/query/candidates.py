"""The cells that may be hot spots: with which probability each reaches a density, and by how much it is expected to
fall short of it.

The gamma's integrals take a microsecond each, and there are millions of cells. Both figures depend on two ratios alone
(`Posterior`), so they are looked up in a table that is computed once, and interpolated.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import lru_cache

import numpy as np

from vdr_spark.arrays import Floats, Integers, Mask, Slices
from vdr_spark.query.posterior import Posterior

LEAST_PROBABILITY = 0.001
"""Cells below it are taken for no hot spots, which nearly all cells are. With 0.01 distances on all pings of SF cabs
were off by a third more: many cells that may be hot spots, none of them likely, do make one likely."""

_MEANS = (
    math.log(1e-3),
    math.log(1e2),
)  # logarithms, as ratios to the density; smaller ones cannot reach it with the probability above
_SPREADS = (math.log(0.02), math.log(50.0))  # likewise of deviations, as ratios to the mean
_STEPS = (1200, 300)


@dataclass(frozen=True)
class Candidates:
    """Slice, row and column (n, 3), probability and expected shortfall (n,)."""

    cells: Integers
    probability: Floats
    shortfall: Floats  # as a share of the density

    @classmethod
    def of(cls, counts: Slices, deviation: Slices | None, density: float) -> Candidates:
        """Return those of a release, (T, M, M) each, slice by slice."""
        bars = [None] * len(counts) if deviation is None else deviation
        parts = [_of_slice(t, counts[t], bars[t], density) for t in range(len(counts))]
        return cls(*(np.concatenate([getattr(part, of.name) for part in parts]) for of in fields(cls)))


def judge_cells(counts: Slices, deviation: Slices | None, density: float) -> tuple[Floats, Floats]:
    """Return of cells (n,) the probability to reach the density, and the expected shortfall as a share of it.

    Cells that hardly can are given 0 and 1. A release without error bars is taken at its word.
    """
    if deviation is None:
        return (counts >= density).astype(np.float64), np.clip(1 - counts / density, 0.0, 1.0)
    probability, shortfall = np.zeros(len(counts)), np.ones(len(counts))
    able = np.flatnonzero(_may_reach(counts, deviation, density))
    mean = counts[able].astype(np.float64)
    spread = np.log(np.maximum(deviation[able], 1e-30) / mean)
    reached = _look_up(0, np.log(mean / (density - 0.5)), spread)
    likely = reached >= LEAST_PROBABILITY
    able, mean, spread = able[likely], mean[likely], spread[likely]
    probability[able], shortfall[able] = reached[likely], _look_up(1, np.log(mean / density), spread)
    return probability, shortfall


def _of_slice(number: int, counts: Slices, deviation: Slices | None, density: float) -> Candidates:
    probability, shortfall = judge_cells(counts.ravel(), None if deviation is None else deviation.ravel(), density)
    kept = np.flatnonzero(probability)
    rows, columns = np.divmod(kept, counts.shape[1])
    cells = np.column_stack((np.full(len(kept), number), rows, columns))
    return Candidates(cells, probability[kept], shortfall[kept])


def _may_reach(counts: Slices, deviation: Slices, density: float) -> Mask:
    """Return which cells are worth looking up. (n,)

    Neither by Markov's inequality, P(X >= v) <= m / v, nor by Cantelli's, P(X >= m + a) <= s^2 / (s^2 + a^2), can the
    others have the least probability, m being the mean and s the deviation.
    """
    above, variance = np.maximum(density - 0.5 - counts, 0.0), deviation**2
    by_cantelli = variance >= LEAST_PROBABILITY * (variance + above**2)
    found: Mask = by_cantelli & (counts >= LEAST_PROBABILITY * (density - 0.5))
    return found


def _look_up(table: int, mean: Floats, spread: Floats) -> Floats:
    """Return one of the tables at logarithms of mean / density and deviation / mean, between its entries. (n,)"""
    from scipy.ndimage import map_coordinates  # slow to import: other questions do without

    places = [
        np.clip((values - low) / (high - low), 0.0, 1.0) * (steps - 1)
        for values, (low, high), steps in zip((mean, spread), (_MEANS, _SPREADS), _STEPS, strict=True)
    ]
    found: Floats = map_coordinates(_tables()[table], places, order=1, mode="nearest")
    return found


@lru_cache(maxsize=1)
def _tables() -> tuple[Floats, Floats]:
    """Return probability and shortfall at a density of 1, by mean and by spread. `_STEPS` each"""
    mean, spread = (np.exp(np.linspace(*ends, steps)) for ends, steps in zip((_MEANS, _SPREADS), _STEPS, strict=True))
    posterior = Posterior.of(mean[:, None] + 0 * spread, mean[:, None] * spread)
    return posterior.exceeds(1.0), posterior.shortfall(1.0)
