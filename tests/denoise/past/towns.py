"""Windows of small towns, in memory: what the tests of the past share."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.evidence import EarlierWindow, PastEvidence
from vdr_spark.grid import Box, Grid

NOISE = laplace_noise(8.0)
MONDAY = datetime(2024, 1, 8, tzinfo=UTC)


def grid_of(window: int, slices: int = 8, cells: int = 96, hours: int = 3) -> Grid:
    """Window 0 begins on a Monday, 1 after it, -1 before it."""
    start = MONDAY + timedelta(hours=window * slices * hours)
    return Grid(Box(0, 0, 1, 1), cells, start, 3600 * hours, slices)


def town(seed: int, grid: Grid) -> np.ndarray:
    """A fresh sample of a town with streets: counts (T, M, M)."""
    rows, columns = np.mgrid[: grid.cells_per_side, : grid.cells_per_side]
    away = np.hypot(rows - 0.45 * len(rows), columns - 0.6 * len(rows)) / len(rows)
    rate = 6 * np.exp(-((away / 0.3) ** 2)) * (0.3 + 2 * ((rows % 7 == 0) | (columns % 9 == 0)))
    rhythm = 1 + 0.5 * np.sin(np.arange(grid.slices))
    return np.random.default_rng(seed).poisson(rhythm[:, None, None] * rate).astype(np.float32)


def remember(noisy: np.ndarray, grid: Grid, past: list[tuple[np.ndarray, Grid]]) -> PastEvidence:
    return PastEvidence([EarlierWindow(of, NOISE, its_grid) for of, its_grid in past], noisy, NOISE, grid)


def usual_past(windows: int, grid: Grid) -> list[tuple[np.ndarray, Grid]]:
    """Earlier windows of the same town, each with noise of its own."""
    grids = [grid_of(-age, grid.slices, grid.cells_per_side) for age in range(windows, 0, -1)]
    return [(with_noise(town(100 + n, of), seed=100 + n), of) for n, of in enumerate(grids)]
