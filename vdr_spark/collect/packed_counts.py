"""Counts on their way to the task that adds noise: one packed row per task and layer, instead of one row per cell.

A layer is a time slice of a region. A packed row is `layer` and two little-endian arrays as binary: the cells of the
layer that are not empty (int32), and their counts (int64).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from vdr_spark.arrays import Integers
from vdr_spark.arrow_columns import to_bytes_column, to_column
from vdr_spark.collect.sorting import Codes, mark_run_starts, order_by

PACKED_SCHEMA = "layer int, cells binary, counts binary"
_PACKED = pa.schema([("layer", pa.int32()), ("cells", pa.binary()), ("counts", pa.binary())])
_INT32, _INT64 = np.dtype("<i4"), np.dtype("<i8")
_MAX_CELLS_PER_NUMBER = 16  # to add: with more cells, sorting is cheaper than an array of all of them
_EXACT = 2**53  # whole numbers below it are exact as doubles, by which NumPy adds up weights

LayerCounts = tuple[int, Integers, Integers]
"""A layer, its cells that are not empty, in order, and their counts."""


def add_up(parts: Sequence[tuple[Integers, Integers | None]], cells_per_layer: int) -> list[LayerCounts]:
    """Return the sums of amounts by cell, layer by layer; None stands for amounts of one each.

    A layer is small enough to be counted in the processor's cache, where all layers together are not.
    """
    cell = np.concatenate([np.empty(0, np.int64), *(cell for cell, _ in parts)])
    layer = (cell // cells_per_layer).astype(np.uint32)
    order = order_by(layer)
    within = (cell - layer * np.int64(cells_per_layer)).astype(np.int32)[order]
    amount = _join_amounts(parts, order)
    present, begins = np.unique(layer[order], return_index=True)
    ends = [*begins[1:], len(cell)]
    return [
        (number, *_add_up_layer(within[begin:end], None if amount is None else amount[begin:end], cells_per_layer))
        for number, begin, end in zip(present.tolist(), begins, ends, strict=False)
    ]


def _join_amounts(parts: Sequence[tuple[Integers, Integers | None]], order: Integers) -> Integers | None:
    if all(amount is None for _, amount in parts):
        return None
    each = [np.ones(len(cell), np.int64) if amount is None else amount for cell, amount in parts]
    joined: Integers = np.concatenate(each)[order]
    return joined


def _add_up_layer(cell: Codes, amount: Integers | None, cells: int) -> tuple[Integers, Integers]:
    """Return the cells that occur, in order, and the sums of their amounts, exactly."""
    exact = amount is None or int(amount.max()) * len(amount) < _EXACT
    if exact and len(cell) * _MAX_CELLS_PER_NUMBER >= cells:
        total = np.bincount(cell, amount, cells)
        found = np.flatnonzero(total)
        return found, total[found].astype(np.int64)
    order = order_by(cell)
    cell = cell[order]
    begins = np.flatnonzero(mark_run_starts(cell))
    if amount is None:
        return cell[begins].astype(np.int64), np.diff(begins, append=len(cell))
    return cell[begins].astype(np.int64), np.add.reduceat(amount[order], begins)


def pack_counts(layers: Sequence[LayerCounts]) -> Iterator[pa.RecordBatch]:
    """Pack one row for each layer."""
    for layer, cell, count in layers:
        columns = [
            to_column(np.array([layer], dtype=np.int32)),
            to_bytes_column([cell.astype(_INT32).tobytes()]),
            to_bytes_column([count.astype(_INT64).tobytes()]),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_PACKED)


def sum_packed(batches: Iterable[pa.RecordBatch], cells_per_layer: int) -> dict[int, Integers]:
    """Sum the dense counts of every layer that has a row, an empty row being enough. Each (M*M,)"""
    totals: dict[int, Integers] = {}
    for batch in batches:
        for row in batch.to_pylist():
            total = totals.setdefault(row["layer"], np.zeros(cells_per_layer, dtype=np.int64))
            # Cells of one packed row are distinct, so this adds each of them once.
            total[np.frombuffer(row["cells"], _INT32)] += np.frombuffer(row["counts"], _INT64)
    return totals
