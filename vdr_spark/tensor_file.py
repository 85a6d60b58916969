"""A tensor between two stages: one Parquet file, one row a slice, readable by Spark as well as by NumPy.

Columns: `slice`, `counts` (M*M numbers, rows from south to north), `deviation` (the same, or null).
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vdr_spark.errors import StageMissing
from vdr_spark.workspace import filesystem

_SCHEMA = pa.schema([("slice", pa.int32()), ("counts", pa.list_(pa.float32())), ("deviation", pa.list_(pa.float32()))])


@dataclass(frozen=True)
class Tensor:
    """Estimated counts and, where a model gives them, their standard deviations. Each (T, M, M)"""

    counts: NDArray[np.float32]
    deviation: NDArray[np.float32] | None = None

    def scaled(self, factor: float) -> Tensor:
        deviation = None if self.deviation is None else self.deviation * np.float32(factor)
        return Tensor(self.counts * np.float32(factor), deviation)


def write_tensor(path: str, tensor: Tensor) -> None:
    """Write all slices; the file appears under its name only when it is whole."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    with (
        fs.open(inside + ".tmp", "wb") as file,
        pq.ParquetWriter(file, _SCHEMA, compression="zstd") as writer,
    ):
        for number, counts in enumerate(tensor.counts):
            deviation = None if tensor.deviation is None else tensor.deviation[number].ravel()
            row = [pa.array([number], pa.int32()), _row(counts.ravel()), _row(deviation)]
            writer.write_batch(pa.RecordBatch.from_arrays(row, schema=_SCHEMA))
    fs.mv(inside + ".tmp", inside)


def read_tensor(path: str, cells: int) -> Tensor:
    """Read it back as (T, M, M)."""
    fs, inside = filesystem(path)
    if not fs.exists(inside):
        raise StageMissing(f"there is no {path} yet; run the stage before this one, or `vdr release`")
    with fs.open(inside, "rb") as file:
        table = pq.read_table(file).sort_by("slice")
    counts = _stacked(table.column("counts"), cells)
    has_deviation = table.column("deviation").null_count == 0
    return Tensor(counts, _stacked(table.column("deviation"), cells) if has_deviation else None)


def _row(values: NDArray[np.float32] | None) -> pa.Array:
    if values is None:
        return pa.nulls(1, pa.list_(pa.float32()))
    return pa.ListArray.from_arrays(np.array([0, len(values)], np.int32), values.astype(np.float32))


def _stacked(column: pa.ChunkedArray, cells: int) -> NDArray[np.float32]:
    flat = pa.concat_arrays([chunk.flatten() for chunk in column.chunks]).to_numpy(zero_copy_only=False)
    tensor: NDArray[np.float32] = flat.reshape(-1, cells, cells)
    return tensor
