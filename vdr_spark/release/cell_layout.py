"""The columns of released cells, and their order in files: by tile and time, so that a box and a period touch few.

Cells come in blocks of 64 x 64 cells and 8 slices. Tiles follow each other along a Z-order curve, the blocks of a tile
in time. Every block is a row group of its own, with the least and the largest of each column beside it, so that any
reader of Parquet skips those that a question is not about: no index, no clustering, nothing that an engine must know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vdr_spark.grid import Grid

TILE = 64  # cells along each side
SLICES = 8  # a day of 3 hours each
BLOCKS_PER_FILE = 64  # about 8 MB: few enough files, small enough to be skipped


SCHEMA = pa.schema(
    [
        pa.field("slice", pa.int32(), nullable=False),
        pa.field("slice_start", pa.timestamp("us", tz="UTC"), nullable=False),
        pa.field("y", pa.int32(), nullable=False),
        pa.field("x", pa.int32(), nullable=False),
        pa.field("lat", pa.float64(), nullable=False),
        pa.field("lon", pa.float64(), nullable=False),
        pa.field("count", pa.float32(), nullable=False),
        pa.field("deviation", pa.float32()),
        pa.field("protected", pa.bool_(), nullable=False),
    ]
)
"""The columns of a file of `cells`; whose release they are of, its folder says."""


@dataclass(frozen=True)
class Block:
    """Slices [first, last), rows [south, north), columns [west, east) of a release."""

    slices: range
    rows: range
    columns: range

    @property
    def size(self) -> int:
        return len(self.slices) * len(self.rows) * len(self.columns)

    @property
    def index(self) -> tuple[slice, slice, slice]:
        """The block as an index into a tensor (T, M, M)."""
        return tuple(slice(axis.start, axis.stop) for axis in (self.slices, self.rows, self.columns))  # type: ignore[return-value]

    def places(self) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
        """Return slice, y and x of its cells, in order. (size,) each"""
        axes = (np.arange(axis.start, axis.stop, dtype=np.int32) for axis in (self.slices, self.rows, self.columns))
        slices, rows, columns = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
        return slices, rows, columns


def blocks_of(grid: Grid) -> Iterator[Block]:
    """Yield the blocks of a grid, each cell in one of them, in the order of the files."""
    return cut_into_blocks(grid.cells_per_side, grid.slices, SLICES)


def cut_into_blocks(side: int, slices: int, slices_of_block: int) -> Iterator[Block]:
    """Yield the blocks of a square of so many cells a side over so many slices."""
    tiles = _cut(side, TILE)
    for y, x in sorted(product(tiles, tiles), key=lambda tile: _along_curve(*tile)):
        for some in _cut(slices, slices_of_block).values():
            yield Block(some, tiles[y], tiles[x])


def _cut(length: int, step: int) -> dict[int, range]:
    return {number: range(start, min(start + step, length)) for number, start in enumerate(range(0, length, step))}


def _along_curve(y: int, x: int) -> int:
    """Return where a tile lies along the Z-order curve: the bits of its row and its column, in turn."""
    return sum((y >> bit & 1) << 2 * bit + 1 | (x >> bit & 1) << 2 * bit for bit in range(max(y, x).bit_length()))
