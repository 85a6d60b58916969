"""Plain Parquet, read by the tasks themselves: which part of a file a task reads, and its pings in our types.

Workers import this, so it knows neither Spark nor the configuration.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vdr_spark.collect.locate import PING_COLUMNS
from vdr_spark.pings.parquet_types import (
    INSTANT,
    INSTANT_NS,
    NUMBER,
    TEXT,
    WHOLE_NUMBER,
    classify_column,
    find_column,
    open_parquet,
)
from vdr_spark.storage.arrow_files import ON_DISK, FileAccess
from vdr_spark.workers import TaskProblem

_BYTES_PER_SPLIT = 128 << 20  # as Spark would cut a file
_ROWS_PER_BATCH = 1 << 16
_MAX_MILLISECONDS = (2**63 - 1) // 1000  # that microseconds can hold
_SORTS = {
    pa.string(): {TEXT},
    pa.int64(): {WHOLE_NUMBER},
    pa.float64(): {NUMBER},
    pa.timestamp("us", "UTC"): {INSTANT, INSTANT_NS},
}


@dataclass(frozen=True)
class Split:
    """The row groups of a file that begin in a stretch of its bytes."""

    uri: str
    begin: int
    end: int
    access: FileAccess = ON_DISK


def split_file(uri: str, access: FileAccess = ON_DISK) -> Iterator[Split]:
    """Cut a file into splits; every row group begins in exactly one."""
    for begin in range(0, access.size_of(uri), _BYTES_PER_SPLIT):
        yield Split(uri, begin, begin + _BYTES_PER_SPLIT, access)


def can_open(split: Split) -> bool:
    """Whether this process may read a split's file; its footer is looked at, no row is."""
    try:
        with open_parquet(split.access.open(split.uri)):
            return True
    except (pa.ArrowException, OSError):
        return False


def read_split(split: Split, columns: dict[str, str], id_type: str) -> Iterator[pa.RecordBatch]:
    """Read the pings of a split, under our names and types; none of a file that lacks a column, as Spark would."""
    try:
        with open_parquet(split.access.open(split.uri), fetch_ahead=split.access.s3 is not None) as file:
            groups = [group for group in range(file.num_row_groups) if split.begin <= _offset(file, group) < split.end]
            theirs = [name for ours in PING_COLUMNS if (name := find_column(file, columns[ours])) is not None]
            if not groups or len(theirs) < len(PING_COLUMNS):
                return
            kinds = [_check_type(file, name, kind) for name, kind in zip(theirs, _types(id_type), strict=True)]
            for batch in file.iter_batches(_ROWS_PER_BATCH, row_groups=groups, columns=theirs, use_threads=False):
                cast = [_cast(batch.column(name), kind) for name, kind in zip(theirs, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(cast, names=list(PING_COLUMNS))
    except (pa.ArrowException, OSError):
        # Arrow's words may quote the file. The stage knows how to say this.
        raise TaskProblem(f"FAILED_READ_FILE {split.uri}") from None


def _types(id_type: str) -> list[pa.DataType]:
    user = pa.string() if id_type == "string" else pa.int64()
    return [user, pa.float64(), pa.float64(), pa.timestamp("us", "UTC")]


def _check_type(file: pq.ParquetFile, name: str, kind: pa.DataType) -> pa.DataType:
    """Return our type for a column, unless the file's is of another sort than the first file's: Spark refuses too."""
    if classify_column(file, name) not in _SORTS[kind]:
        raise pa.ArrowInvalid("a column of another type")
    return kind


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """Cast to our type. A time too far away for microseconds becomes null: it lies in no period."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return _floor_to_microseconds(column).view(kind)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ms":
        number = column.view(pa.int64())
        fits = pc.and_(pc.less_equal(number, _MAX_MILLISECONDS), pc.greater_equal(number, -_MAX_MILLISECONDS))
        column = pc.if_else(fits, column, pa.scalar(None, column.type))
    return column.cast(kind)


def _floor_to_microseconds(nanoseconds: pa.Array) -> pa.Array:
    """Round down, so that before 1970 too no time moves into the next slice."""
    # floor_temporal would wrap around at the earliest of times.
    number = nanoseconds.view(pa.int64())
    towards_zero = pc.divide(number, 1000)
    return pc.subtract(towards_zero, pc.less(number, pc.multiply(towards_zero, 1000)).cast(pa.int64()))


def _offset(file: pq.ParquetFile, row_group: int) -> int:
    first = file.metadata.row_group(row_group).column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)
