"""Counts on their way to the task that adds noise: one packed row per task and layer, instead of one row per cell.

A layer is a time slice of a region. A packed row is `layer` and two little-endian arrays as binary: the cells of the
layer that are not empty (int32), and their counts (int64).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from vdr_spark.arrays import Integers
from vdr_spark.collect.sorting import mark_run_starts

PACKED_SCHEMA = "layer int, cells binary, counts binary"
_PACKED = pa.schema([("layer", pa.int32()), ("cells", pa.binary()), ("counts", pa.binary())])
_INT32, _INT64 = np.dtype("<i4"), np.dtype("<i8")
_MAX_CELLS_PER_NUMBER = 16  # to add: with more cells, sorting is cheaper than an array of all of them


def add_up(parts: Sequence[tuple[Integers, Integers | None]], cells: int) -> tuple[Integers, Integers]:
    """Return the cells that occur in any part, in order, and the sums of their amounts; None stands for all ones."""
    numbers = sum(len(cell) for cell, _ in parts)
    if numbers == 0:
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    if numbers * _MAX_CELLS_PER_NUMBER >= cells:
        total = np.zeros(cells, dtype=np.int64)
        for cell, amount in parts:
            np.add.at(total, cell, 1 if amount is None else amount)
        found = np.flatnonzero(total)
        return found, total[found]
    cell = np.concatenate([cell for cell, _ in parts])
    if all(amount is None for _, amount in parts):
        cell = np.sort(cell)
        begins = np.flatnonzero(mark_run_starts(cell))
        return cell[begins], np.diff(begins, append=numbers)
    amount = np.concatenate([np.ones(len(c), dtype=np.int64) if a is None else a for c, a in parts])
    order = np.argsort(cell)
    cell = cell[order]
    begins = np.flatnonzero(mark_run_starts(cell))
    return cell[begins], np.add.reduceat(amount[order], begins)


def pack_counts(cell: Integers, count: Integers, cells_per_layer: int) -> Iterator[pa.RecordBatch]:
    """Pack one row for each layer that occurs, from distinct cell numbers in order."""
    layers, begins = np.unique(cell // cells_per_layer, return_index=True)
    ends = np.append(begins[1:], len(cell))[: len(begins)]  # none where the task has no ping
    for layer, begin, end in zip(layers, begins, ends, strict=True):
        within = (cell[begin:end] - layer * cells_per_layer).astype(_INT32)
        row = [[int(layer)], [within.tobytes()], [count[begin:end].astype(_INT64).tobytes()]]
        yield pa.RecordBatch.from_arrays(
            [pa.array(column, field.type) for column, field in zip(row, _PACKED, strict=True)], schema=_PACKED
        )


def sum_packed(batches: Iterable[pa.RecordBatch], cells_per_layer: int) -> dict[int, Integers]:
    """Sum the dense counts of every layer that has a row, an empty row being enough. Each (M*M,)"""
    totals: dict[int, Integers] = {}
    for batch in batches:
        for row in batch.to_pylist():
            total = totals.setdefault(row["layer"], np.zeros(cells_per_layer, dtype=np.int64))
            # Cells of one packed row are distinct, so this adds each of them once.
            total[np.frombuffer(row["cells"], _INT32)] += np.frombuffer(row["counts"], _INT64)
    return totals
