"""From rows of the tensor file, one a slice, to rows of `cells`, one a cell. Runs in Spark's Python workers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa

from vdr_spark.grid import Grid
from vdr_spark.release.cell_layout import SCHEMA, blocks_of

_CELLS = pa.schema([("release_id", pa.string()), *SCHEMA])


def cell_rows(
    grid: Grid, release_id: str, protected: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that turns rows of the tensor file into one row a cell, tile by tile."""
    one_slice = replace(grid, slices=1)
    y, x = (np.concatenate(axes) for axes in zip(*(block.places()[1:] for block in blocks_of(one_slice)), strict=True))
    order = pa.array(y.astype(np.int64) * grid.cells_per_side + x)
    lat, lon = grid.latitudes()[y], grid.longitudes()[x]

    def expand(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in range(batch.num_rows):
                number = batch.column("slice")[row].as_py()
                deviation = batch.column("deviation")[row]
                columns = [
                    pa.repeat(release_id, len(y)),
                    pa.repeat(pa.scalar(number, pa.int32()), len(y)),
                    pa.repeat(pa.scalar(grid.slice_start(number), _CELLS.field("slice_start").type), len(y)),
                    *(pa.array(values) for values in (y, x, lat, lon)),
                    batch.column("counts")[row].values.take(order),
                    deviation.values.take(order) if deviation.is_valid else pa.nulls(len(y), pa.float32()),
                    pa.repeat(pa.scalar(protected), len(y)),
                ]
                yield pa.RecordBatch.from_arrays(columns, schema=_CELLS)

    return expand
