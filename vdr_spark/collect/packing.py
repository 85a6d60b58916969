"""Counts on their way through the shuffle: one packed row a task and slice, instead of one row a cell.

A packed row is `slice`, and two little-endian int32 arrays as binary: the cells of the slice that are not empty, and
their counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

PACKED_SCHEMA = "slice int, cells binary, counts binary"
_PACKED = pa.schema([("slice", pa.int32()), ("cells", pa.binary()), ("counts", pa.binary())])
_INT32 = np.dtype("<i4")


def pack_cells(cell: NDArray[np.int64], cells_per_slice: int) -> Iterator[pa.RecordBatch]:
    """Count flat cell numbers, and pack the counts, one row for each slice that occurs."""
    cells, counts = np.unique(cell, return_counts=True)
    numbers, begins = np.unique(cells // cells_per_slice, return_index=True)
    ends = np.append(begins[1:], len(cells))[: len(begins)]  # none where the task has no ping
    for number, begin, end in zip(numbers, begins, ends, strict=True):
        within = (cells[begin:end] - number * cells_per_slice).astype(_INT32)
        row = [[int(number)], [within.tobytes()], [counts[begin:end].astype(_INT32).tobytes()]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(row, _PACKED, strict=True)], schema=_PACKED
        )


def sum_packed(batches: Iterable[pa.RecordBatch], cells_per_slice: int) -> dict[int, NDArray[np.int64]]:
    """Dense counts of every slice that has a row, an empty row being enough. Each (M*M,)"""
    totals: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for row in batch.to_pylist():
            total = totals.setdefault(row["slice"], np.zeros(cells_per_slice, dtype=np.int64))
            # Cells of one packed row are distinct, so this adds each of them once.
            total[np.frombuffer(row["cells"], _INT32)] += np.frombuffer(row["counts"], _INT32)
    return totals
