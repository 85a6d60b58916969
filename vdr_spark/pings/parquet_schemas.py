"""What Parquet files say of their columns' types: the same sort in all of them, or nothing is read.

Spark takes the types from one file and reads the others as though they had them: instants as wall clocks, for
example. One person's file could so change how everybody's rows are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from pyspark.sql.types import DataType, TimestampType

from vdr_spark.errors import InvalidInput
from vdr_spark.pings.file_checks import glance

TEXT, WHOLE_NUMBER, NUMBER = "text", "whole number", "number"
INSTANT, INSTANT_NS = "instant", "instant in nanoseconds"


def check_types(files: Sequence[str], columns: Mapping[str, DataType], path: str) -> None:
    """Refuse files, given as Spark's URIs, that keep a column in different sorts. Spark's type of each is given.

    A file may lack a column. A damaged one is left to whoever reads its rows, and says so.
    """
    found = glance(files, partial(_sorts_in, names=list(columns)), path)
    for name, kind in columns.items():
        sorts = {sorts[name] for sorts in found if name in sorts}
        if isinstance(kind, TimestampType):
            # Where Spark does not take nanoseconds for numbers it refuses them itself, and direct reading knows them.
            sorts -= {INSTANT_NS}
        if len(sorts) > 1:
            raise InvalidInput(
                f"input: column `{name}` of {path} has in some files other types than the other files' "
                f"({', '.join(sorted(sorts))}); convert them, so that all files keep it alike"
            )


def column_in(file: pq.ParquetFile, name: str) -> str | None:
    """The file's own spelling of a column's name: the same, or the only one that differs in case, as Spark does it."""
    names = file.schema_arrow.names
    alike = [name] if name in names else [other for other in names if other.lower() == name.lower()]
    if len(alike) > 1:
        raise pa.ArrowInvalid("two columns of one name")
    return alike[0] if alike else None


def sort_of(file: pq.ParquetFile, name: str) -> str:
    """Types of one sort mean the same, whichever of them Spark takes for all files."""
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
        return "wall clock in nanoseconds" if kind.unit == "ns" else "wall clock"
    return "another" if pa.types.is_nested(kind) else str(kind)


def parquet_file(file: object) -> pq.ParquetFile:
    return pq.ParquetFile(file, coerce_int96_timestamp_unit="us")


def _sorts_in(fs: AbstractFileSystem, file: str, names: Sequence[str]) -> dict[str, str]:
    with fs.open(file, "rb") as opened:
        try:
            footer = parquet_file(opened)
            return {name: sort_of(footer, theirs) for name in names if (theirs := column_in(footer, name)) is not None}
        except pa.ArrowException:
            return {}


def _is_int96(file: pq.ParquetFile, name: str) -> bool:
    stored = [file.metadata.schema.column(number) for number in range(len(file.metadata.schema))]
    return any(column.path == name and column.physical_type == "INT96" for column in stored)
