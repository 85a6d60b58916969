"""The sums of a pyramid: squares of 2, 4, 8, ... cells a side for each slice, and cells and squares for whole days.

Released counts are multiples of a quantum (`rounding.QUANTUM`), so that sums of doubles are exact, in whatever order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Slices
from vdr_spark.grid import Grid
from vdr_spark.pyramid import Days, blocks_along, factors_of
from vdr_spark.release.cell_layout import Block
from vdr_spark.rounding import round_deviations
from vdr_spark.sum_errors import SumErrors

SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.int32(), nullable=False) for name in ("factor", "slices", "slice")),
        pa.field("slice_start", pa.timestamp("us", tz="UTC"), nullable=False),
        *(pa.field(name, pa.int32(), nullable=False) for name in ("y", "x")),
        *(pa.field(name, pa.float64(), nullable=False) for name in ("lat", "lon", "count")),
        pa.field("variance", pa.float64()),
        pa.field("deviation", pa.float32()),
        pa.field("protected", pa.bool_(), nullable=False),
    ]
)
"""The columns of a file of `pyramid`; whose release they are of, its folder says."""


@dataclass(frozen=True, eq=False)
class Level:
    """Sums over squares of `factor` cells a side, over single slices or over days."""

    factor: int
    firsts: NDArray[np.int32]  # first slice of each (D,)
    spans: NDArray[np.int32]  # how many slices each sums (D,)
    counts: Floats  # (D, S, S)
    variances: Floats | None  # sums of squared deviations (D, S, S)

    @property
    def side(self) -> int:
        """Squares along a side of the grid."""
        return int(self.counts.shape[1])

    def upwards(self, cells_per_side: int) -> Iterator[Level]:
        """Yield this level and those above it, as long as a square does not hold the whole grid."""
        yield self
        if self.factor * 2 < cells_per_side:
            variances = None if self.variances is None else halve(self.variances)
            yield from Level(self.factor * 2, self.firsts, self.spans, halve(self.counts), variances).upwards(
                cells_per_side
            )


def sum_levels(counts: Slices, deviation: Slices | None, days: Sequence[Days]) -> Iterator[Level]:
    """Yield all levels of a release (T, M, M): of slices from 2 x 2 cells on, then of days, single cells among them."""
    side, slices = counts.shape[1], np.arange(len(counts), dtype=np.int32)
    if factors_of(side):
        variances = None if deviation is None else halve(deviation, power=2)
        yield from Level(2, slices, np.ones_like(slices), halve(counts), variances).upwards(side)
    if days:
        firsts = np.array([first for run in days for first in run.starts()], np.int32)
        spans = np.array([run.slices for run in days for _ in run.starts()], np.int32)
        variances = None if deviation is None else _sum_days(deviation, firsts, spans, power=2)
        yield from Level(1, firsts, spans, _sum_days(counts, firsts, spans), variances).upwards(side)


def halve(layers: Slices | Floats, power: int = 1) -> Floats:
    """Return the sums of 2 x 2 neighbours' powers, at uneven edges of what there is. (D, S, S) -> (D, S/2, S/2)"""
    half = blocks_along(layers.shape[1], 2)
    halved = np.empty((len(layers), half, half))
    for layer, into in zip(layers, halved, strict=True):  # one at a time: all of them as doubles would be large
        values = layer.astype(np.float64) ** power
        rows = values[::2].copy()
        rows[: len(values) // 2] += values[1::2]
        into[:] = rows[:, ::2]
        into[:, : len(values) // 2] += rows[:, 1::2]
    return halved


def _sum_days(layers: Slices, firsts: NDArray[np.int32], spans: NDArray[np.int32], power: int = 1) -> Floats:
    """Return the sum of each day's slices' powers. (T, M, M) -> (D, M, M)"""
    sums = np.zeros((len(firsts), *layers.shape[1:]))
    for into, first, span in zip(sums, firsts, spans, strict=True):
        for layer in layers[first : first + span]:
            into += layer.astype(np.float64) ** power
    return sums


def block_rows(level: Level, block: Block, grid: Grid, errors: SumErrors | None, protected: bool) -> pa.RecordBatch:
    """Return the rows of some of a level's sums; `block.slices` numbers them along its first axis."""
    place, rows, columns = block.places()
    slices = level.firsts[place]
    variances = None if level.variances is None else level.variances[block.index]
    counts = level.counts[block.index]
    deviation = None if variances is None else _deviations(level, block, grid, errors, counts, variances)
    size = block.size
    starts = grid.start_us + slices.astype(np.int64) * grid.slice_seconds * 1_000_000
    values = (
        pa.repeat(pa.scalar(level.factor, pa.int32()), size),
        pa.array(level.spans[place]),
        pa.array(slices),
        pa.array(starts, SCHEMA.field("slice_start").type),
        pa.array(rows),
        pa.array(columns),
        pa.array((grid.box.south + middles(grid, level.factor) / grid.cells_per_lat)[rows]),
        pa.array((grid.box.west + middles(grid, level.factor) / grid.cells_per_lon)[columns]),
        pa.array(counts.ravel()),
        pa.nulls(size, pa.float64()) if variances is None else pa.array(variances.ravel()),
        pa.nulls(size, pa.float32())
        if deviation is None
        else pa.array(round_deviations(deviation.astype(np.float32)).ravel()),
        pa.repeat(pa.scalar(protected), size),
    )
    return pa.RecordBatch.from_arrays(list(values), schema=SCHEMA)


def _lengths(grid: Grid, factor: int) -> Floats:
    """Return how many cells a side the squares of each row, or column, have. (S,)"""
    starts = np.arange(0, grid.cells_per_side, factor)
    return np.minimum(factor, grid.cells_per_side - starts).astype(np.float64)


def middles(grid: Grid, factor: int) -> Floats:
    """Return where the middle of each row of squares lies, in cells from the edge of the grid. (S,)"""
    lengths: Floats = np.arange(0, grid.cells_per_side, factor) + _lengths(grid, factor) / 2
    return lengths


def _deviations(
    level: Level, block: Block, grid: Grid, errors: SumErrors | None, counts: Floats, variances: Floats
) -> Floats:
    """Return the error bars of sums, as `query.range_count` has them."""
    if errors is None:
        plain: Floats = np.sqrt(variances)
        return plain
    spans = level.spans[block.slices.start : block.slices.stop].astype(np.float64)
    spans = spans[:1] if (spans == spans[0]).all() else spans  # what is alike is looked up once
    lengths = _lengths(grid, level.factor)
    area = lengths[block.index[1], None] * lengths[block.index[2]]
    slices = spans[:, None, None]
    bars: Floats = np.sqrt(errors.variance(area * slices, slices, counts, variances))
    return bars
