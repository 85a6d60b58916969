"""What one Parquet file says of a column: its name as the file spells it, and the sort of its type.

Types of one sort mean the same, whichever of them Spark takes for all files. Workers import this.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

TEXT, WHOLE_NUMBER, NUMBER = "text", "whole number", "number"
INSTANT, INSTANT_NS = "instant", "instant in nanoseconds"
WALL_CLOCK, WALL_CLOCK_NS = "wall clock", "wall clock in nanoseconds"


def open_parquet(file: object, fetch_ahead: bool = False) -> pq.ParquetFile:
    """Open a file, a path or something like a file; INT96 is read in microseconds, since it reaches further so.

    `fetch_ahead` asks for the columns of all row groups in few requests, for stores where each one waits.
    """
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us", pre_buffer=fetch_ahead)


def find_column(file: pq.ParquetFile, name: str) -> str | None:
    """Return the file's own spelling of a column: the same, or the only one that differs in case, as Spark does it."""
    names = file.schema_arrow.names
    alike = [name] if name in names else [other for other in names if other.lower() == name.lower()]
    if len(alike) > 1:
        raise pa.ArrowInvalid("two columns of one name")
    return alike[0] if alike else None


def bits_of_column(file: pq.ParquetFile, name: str) -> str:
    """Return in which bits a column keeps its numbers, such as int32; empty where they are no numbers."""
    kind = file.schema_arrow.field(name).type
    return str(kind) if pa.types.is_integer(kind) or pa.types.is_floating(kind) else ""


def classify_column(file: pq.ParquetFile, name: str) -> str:
    """Return the sort of a column's type."""
    kind = file.schema_arrow.field(name).type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return TEXT
    if pa.types.is_integer(kind) and kind != pa.uint64():  # whose largest do not fit
        return WHOLE_NUMBER
    if pa.types.is_floating(kind):
        return NUMBER
    # INT96 has no zone in Arrow's eyes, and is an instant in Spark's.
    if pa.types.is_timestamp(kind) and (kind.tz is not None or _is_int96(file, name)):
        return INSTANT_NS if kind.unit == "ns" else INSTANT
    if pa.types.is_timestamp(kind):
        return WALL_CLOCK_NS if kind.unit == "ns" else WALL_CLOCK
    return "another" if pa.types.is_nested(kind) else str(kind)


def _is_int96(file: pq.ParquetFile, name: str) -> bool:
    stored = [file.metadata.schema.column(number) for number in range(len(file.metadata.schema))]
    return any(column.path == name and column.physical_type == "INT96" for column in stored)
