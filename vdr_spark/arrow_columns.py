"""Numbers and bytes between NumPy and Arrow by their buffers: no copy, and nothing else is loaded.

pyarrow's own ways from Python's and NumPy's values and back (`pa.array`, `to_numpy`, `fill_null`, `pa.scalar`) look
first whether pandas is there, by importing it. That takes a second of every process that asks, each of Spark's Python
workers among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

Number = TypeVar("Number", bound=np.generic)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def to_column(values: NDArray[Any]) -> pa.Array:
    """Return numbers as Arrow has them. (n,)"""
    import pyarrow as pa

    buffers = [None, pa.py_buffer(np.ascontiguousarray(values))]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def to_bytes_column(values: Sequence[bytes]) -> pa.Array:
    """Return pieces of bytes as Arrow has them; `OverflowError` beyond what its offsets reach. (n,)"""
    import pyarrow as pa

    ends = np.cumsum([0, *map(len, values)], dtype=np.int64)
    if ends[-1] >= 2**31:
        raise OverflowError("more bytes than Arrow's offsets reach")  # never wrapped silently
    data = values[0] if len(values) == 1 else b"".join(values)
    return pa.Array.from_buffers(
        pa.binary(), len(values), [None, pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(data)]
    )


def to_numbers(column: pa.Array, kind: type[Number]) -> NDArray[Number]:
    """Return a column as NumPy has it, null as NaN; `ValueError` for a null among integers. (n,)

    Where the column is of this type and has no null, nothing is copied.
    """
    import pyarrow as pa

    column = column.cast(pa.from_numpy_dtype(kind))
    if column.null_count and issubclass(kind, np.integer):
        raise ValueError("a column of integers must not hold nulls")
    validity, content = column.buffers()
    rows = slice(column.offset, column.offset + len(column))
    values = np.frombuffer(content, dtype=kind)[rows] if content is not None else np.empty(0, dtype=kind)
    if not column.null_count:
        return values
    valid = np.unpackbits(np.frombuffer(validity, dtype=np.uint8), bitorder="little")[rows].astype(bool)
    return np.where(valid, values, kind(np.nan))


def to_rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    """Return the rows of a small batch, moments in UTC, which is what one without a zone means in Spark's files."""
    columns = {name: _to_values(batch.column(name)) for name in batch.schema.names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _to_values(column: pa.Array) -> list[Any]:
    import pyarrow as pa

    if not pa.types.is_timestamp(column.type):
        return list(column.to_pylist())
    micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).to_pylist()
    return [None if value is None else _EPOCH + timedelta(microseconds=value) for value in micros]
