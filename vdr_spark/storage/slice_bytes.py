"""The counts of a stored noisy slice as bytes: little-endian integers of one width, the narrowest that holds them all.

Spark takes a list apart number by number, on the way from Python, into Parquet and back, which cost more than sampling
the noise; bytes it hands on as they are. The width follows from numbers that hold their noise already, so it tells
nothing that they do not. Workers import this.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from vdr_spark.arrays import Integers
from vdr_spark.arrow_columns import to_bytes_column, to_column

SLICE_SCHEMA = "slice int, counts binary, bytes_per_count int"
SLICE_COLUMNS = ("slice", "counts", "bytes_per_count")
_WIDTHS = (2, 4, 8)
_SLICES = pa.schema([("slice", pa.int32()), ("counts", pa.binary()), ("bytes_per_count", pa.int32())])


def encode_slice(number: int, counts: Integers) -> pa.RecordBatch:
    """Return the row of a slice: its number, its counts as bytes, and their width."""
    lowest, highest = int(counts.min(initial=0)), int(counts.max(initial=0))
    width = next(width for width in _WIDTHS if -(1 << 8 * width - 1) <= lowest and highest < 1 << 8 * width - 1)
    columns = [
        to_column(np.array([number], dtype=np.int32)),
        to_bytes_column([counts.astype(f"<i{width}").tobytes()]),
        to_column(np.array([width], dtype=np.int32)),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_SLICES)


def decode_counts(counts: memoryview | bytes | pa.Buffer, width: int) -> Integers:
    """Return the counts of a slice, (M*M,); ValueError where the bytes are not whole numbers of this width."""
    if width not in _WIDTHS:
        raise ValueError(f"a width of {width} bytes")
    return np.frombuffer(counts, dtype=f"<i{width}").astype(np.int64)


def decode_slices(batch: pa.RecordBatch) -> Iterator[Integers]:
    """Yield the counts of every row of a batch that has the columns `counts` and `bytes_per_count`. Each (M*M,)"""
    for counts, width in zip(batch.column("counts"), batch.column("bytes_per_count").to_pylist(), strict=True):
        yield decode_counts(counts.as_buffer(), width)
