"""The questions a release is judged by, asked where the pings are, as in the paper.

Sampling them reads the exact counts: a workload belongs to the evaluation and not to the release.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Grid
from vdr_spark.query.hotspot import BUSY_PERCENTILE

Tensor = NDArray[Any]  # (T, M, M), whole numbers or floats


@dataclass(frozen=True)
class RangeQueries:
    """Boxes of whole cells: rows [south, north), columns [west, east), each from a slice on. (Q,)"""

    slices: NDArray[np.int64]  # the first of each
    south: NDArray[np.int64]
    north: NDArray[np.int64]
    west: NDArray[np.int64]
    east: NDArray[np.int64]
    length: int = 1  # slices, of all queries

    def answers(self, tensor: Tensor) -> NDArray[np.float64]:
        """Return the count of every query, by one summed-area table per first slice. (Q,)"""
        found = np.zeros(len(self.south))
        for number, chosen in _by_slice(self.slices):
            found[chosen] = self._look_up(tensor[number : number + self.length].sum(axis=0, dtype=np.float64), chosen)
        return found

    def _look_up(self, layer: NDArray[Any], chosen: NDArray[np.int64]) -> NDArray[np.float64]:
        table = summed_area(layer)
        south, north, west, east = (edge[chosen] for edge in (self.south, self.north, self.west, self.east))
        found: NDArray[np.float64] = table[north, east] - table[south, east] - table[north, west] + table[south, west]
        return found


@dataclass(frozen=True)
class HotspotQueries:
    """Cells to search from, each in one slice, and the count that makes a hot spot there. (Q,)"""

    slices: NDArray[np.int64]
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    thresholds: NDArray[np.float64]


def range_queries(
    truth: Tensor,
    grid: Grid,
    seed: int,
    count: int = 5000,
    side_m: tuple[float, float] = (30.0, 120.0),
    anywhere: bool = False,
    length: int = 1,
) -> RangeQueries:
    """Sample squares with sides uniform in `side_m` metres, centred at pings chosen at random, or at any cells.

    Each over `length` slices, the ping's among them. A side is rounded to whole cells, at least one, so on a coarse
    grid all of them are single cells. What reaches over the edge of the grid is cut off.
    """
    rng = np.random.default_rng(seed)
    slices, rows, columns = _sample_any_cells(truth, count, rng) if anywhere else sample_ping_cells(truth, count, rng)
    sides = rng.uniform(*side_m, size=count)
    height, width = (np.maximum(np.rint(sides / metres), 1).astype(np.int64) for metres in grid.cell_metres)
    # An even number of cells has no middle one: which side is longer is left to chance.
    south = rows - (height - rng.integers(0, 2, size=count)) // 2
    west = columns - (width - rng.integers(0, 2, size=count)) // 2
    first = slices if length == 1 else np.clip(slices - rng.integers(0, length, size=count), 0, len(truth) - length)
    return RangeQueries(
        first,
        np.maximum(south, 0),
        np.minimum(south + height, grid.cells_per_side),
        np.maximum(west, 0),
        np.minimum(west + width, grid.cells_per_side),
        length,
    )


def hotspot_queries(truth: Tensor, seed: int, count: int = 1000) -> HotspotQueries:
    """Sample cells of pings at random: people ask from where they are.

    The threshold is the slice's true 99.9th percentile, at least one ping: what `nearest_hotspot` takes
    by default, but of the truth, so that every estimate is asked the same.
    """
    rng = np.random.default_rng(seed)
    slices, rows, columns = sample_ping_cells(truth, count, rng)
    thresholds = np.zeros(count)
    for number, chosen in _by_slice(slices):
        thresholds[chosen] = max(float(np.percentile(truth[number], BUSY_PERCENTILE)), 1.0)
    return HotspotQueries(slices, rows, columns, thresholds)


def summed_area(layer: NDArray[Any]) -> NDArray[np.float64]:
    """Return S with S[y, x] = the sum of rows below y and columns below x. (M, M) -> (M + 1, M + 1)"""
    table = np.zeros((layer.shape[0] + 1, layer.shape[1] + 1))
    np.cumsum(layer, axis=0, dtype=np.float64, out=table[1:, 1:])
    np.cumsum(table[1:, 1:], axis=1, out=table[1:, 1:])
    return table


def sample_ping_cells(
    truth: Tensor, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sample slice, row and column of pings with equal chance, with replacement. (Q,) each"""
    totals = truth.sum(axis=(1, 2), dtype=np.float64)
    if totals.sum() <= 0:
        raise InvalidInput("the truth must hold pings to be compared with, not 0; check the box and the period")
    slices = rng.choice(len(totals), size=count, p=totals / totals.sum()).astype(np.int64)
    cells = np.zeros(count, dtype=np.int64)
    for number, chosen in _by_slice(slices):
        upto = np.cumsum(truth[number], dtype=np.float64)  # flattened
        cells[chosen] = np.searchsorted(upto, rng.random(len(chosen)) * upto[-1], side="right")
    rows, columns = np.divmod(cells, truth.shape[2])
    return slices, rows, columns


def _sample_any_cells(
    truth: Tensor, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Sample slice, row and column with equal chance for all cells, most of which are empty. (Q,) each"""
    slices, rows, columns = (rng.integers(size, size=count) for size in truth.shape)
    return slices, rows, columns


def _by_slice(slices: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield every slice that occurs, with the numbers of its queries."""
    for number in np.unique(slices):
        yield int(number), np.flatnonzero(slices == number)
