"""A tensor between two stages: one Parquet file, one row per slice, readable by Spark as well as by NumPy.

Columns: `slice`, `counts` (M*M numbers, rows from south to north), and `deviation`, `prior`, `prior_deviation` (the
same, or null).
"""

from __future__ import annotations

import hashlib
import posixpath
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vdr_spark.errors import StageMissing
from vdr_spark.storage.files import filesystem

_LAYERS = ("counts", "deviation", "prior", "prior_deviation")
_SCHEMA = pa.schema([("slice", pa.int32()), *((name, pa.list_(pa.float32())) for name in _LAYERS)])


Slices = NDArray[np.float32]


@dataclass(frozen=True)
class Tensor:
    """Estimated counts and, where a model gives them, their standard deviations. Each (T, M, M)

    After fusion also what was expected of each cell before its own noisy count was looked at.
    """

    counts: Slices
    deviation: Slices | None = None
    prior: Slices | None = None
    prior_deviation: Slices | None = None


def write_tensor(path: str, tensor: Tensor) -> None:
    """Write all slices; the file appears under its name only when it is whole."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    with (
        fs.open(inside + ".tmp", "wb") as file,
        # Without dictionaries of values, which hardly repeat: they take eight times as long to write.
        pq.ParquetWriter(file, _SCHEMA, compression="zstd", use_dictionary=False) as writer,
    ):
        layers = [getattr(tensor, name) for name in _LAYERS]
        for number in range(len(tensor.counts)):
            row = [_to_row(None if layer is None else layer[number].ravel()) for layer in layers]
            writer.write_batch(pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), *row], schema=_SCHEMA))
    fs.mv(inside + ".tmp", inside)


def read_tensor(path: str, cells: int) -> Tensor:
    """Read the layers back, each (T, M, M)."""
    fs, inside = filesystem(path)
    if not fs.exists(inside):
        raise StageMissing(f"there is no {path} yet; run the stage before this one, or `vdr release`")
    with fs.open(inside, "rb") as file:
        table = pq.read_table(file).sort_by("slice")
    counts, *rest = (table.column(name) for name in _LAYERS)
    return Tensor(_stack(counts, cells), *(None if layer.null_count else _stack(layer, cells) for layer in rest))


def checksum(counts: Slices, deviation: Slices | None) -> str:
    """Return the SHA-256 of a tensor as released: little-endian float32, all counts, then all deviations if any."""
    digest = hashlib.sha256()
    for layers in (counts, deviation):
        for layer in () if layers is None else layers:
            digest.update(np.ascontiguousarray(layer, dtype="<f4").tobytes())
    return digest.hexdigest()


def _to_row(values: Slices | None) -> pa.Array:
    if values is None:
        return pa.nulls(1, pa.list_(pa.float32()))
    return pa.ListArray.from_arrays(np.array([0, len(values)], np.int32), values.astype(np.float32))


def _stack(column: pa.ChunkedArray, cells: int) -> Slices:
    flat = pa.concat_arrays([chunk.flatten() for chunk in column.chunks]).to_numpy(zero_copy_only=False)
    tensor: Slices = flat.reshape(-1, cells, cells)
    return tensor
