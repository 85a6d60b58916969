"""Cells as Arrow columns, a tile at a time: what GeoParquet and CSV share."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pyarrow as pa

from vdr_spark.arrays import Image
from vdr_spark.export.part import Part, Tile

CELL_FIELDS = [
    pa.field("slice", pa.int32(), nullable=False),
    pa.field("slice_start", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("y", pa.int32(), nullable=False),
    pa.field("x", pa.int32(), nullable=False),
    pa.field("count", pa.float32(), nullable=False),
    pa.field("deviation", pa.float32()),  # null where the model gives none
]


def cell_columns(part: Part, tile: Tile) -> dict[str, pa.Array]:
    """Return the columns of `CELL_FIELDS`, a row for each cell: from south to north, then from west to east."""
    start = part.release.grid.slice_start(tile.number)
    return {
        "slice": pa.array(np.full(tile.size, tile.number, dtype=np.int32)),
        "slice_start": repeat_moment(start, tile.size),
        "y": pa.array(np.repeat(np.arange(tile.rows.start, tile.rows.stop, dtype=np.int32), len(tile.columns))),
        "x": pa.array(np.tile(np.arange(tile.columns.start, tile.columns.stop, dtype=np.int32), len(tile.rows))),
        "count": pa.array(part.counts(tile).ravel()),
        "deviation": _or_nulls(part.deviation(tile), tile.size),
    }


def repeat_moment(moment: datetime, times: int) -> pa.Array:
    return pa.repeat(pa.scalar(moment, pa.timestamp("us", tz="UTC")), times)


def _or_nulls(values: Image | None, size: int) -> pa.Array:
    return pa.nulls(size, pa.float32()) if values is None else pa.array(values.ravel())
