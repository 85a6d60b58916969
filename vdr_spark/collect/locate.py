"""Locating pings: whose they are, in which cell they lie, and what tells them apart.

It runs inside Spark's Python workers, on Arrow batches. Pings outside the boxes or the period, or with a null or NaN
in them, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Integers
from vdr_spark.arrow_columns import to_column, to_numbers
from vdr_spark.grid import Grid

PING_COLUMNS = ("user_id", "lat", "lon", "ts")
Bits = NDArray[np.uint64]
_MICROSECONDS = pa.timestamp("us", "UTC")


@dataclass(frozen=True)
class Located:
    """Pings inside the domain, each with its cell number and the bits of its latitude, longitude and time. All (n,)"""

    user: pa.Array
    cell: Integers
    content: tuple[Bits, Bits, Bits]

    def __len__(self) -> int:
        return len(self.cell)


def locate(batch: pa.RecordBatch, grids: Sequence[Grid]) -> Located:
    """Return the pings of a batch (`user_id, lat, lon, ts`) that lie in one of the grids, which do not overlap."""
    if any(column.null_count for column in batch.columns):
        batch = pc.drop_null(batch)
    user, lat, lon, ts = (batch.column(name) for name in PING_COLUMNS)
    micros = ts.cast(_MICROSECONDS).view(pa.int64())
    numbers = to_numbers(lat, np.float64), to_numbers(lon, np.float64), to_numbers(micros, np.int64)
    cell = find_cells(*numbers, grids)
    if cell.min(initial=0) < 0:
        inside = np.flatnonzero(cell >= 0)
        user, cell = user.take(to_column(inside)), cell[inside]
        numbers = numbers[0][inside], numbers[1][inside], numbers[2][inside]
    return Located(user, cell, (numbers[0].view(np.uint64), numbers[1].view(np.uint64), numbers[2].view(np.uint64)))


def find_cells(lat: Floats, lon: Floats, ts_us: Integers, grids: Sequence[Grid]) -> Integers:
    """Number the cells through all grids, those of the second after those of the first; -1 is a ping in none. (n,)"""
    cell, first = grids[0].cell_of(lat, lon, ts_us), grids[0].size
    for grid in grids[1:]:
        other = grid.cell_of(lat, lon, ts_us)
        cell = np.where(other >= 0, other + first, cell)
        first += grid.size
    return cell
