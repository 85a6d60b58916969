"""What Parquet files say of their columns' types: the same sort in all of them, or nothing is read.

Spark takes the types from one file and reads the others as though they had them: instants as wall clocks, for
example. One person's file could so change how everybody's rows are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem

from vdr_spark.errors import InvalidInput
from vdr_spark.pings.file_checks import read_each
from vdr_spark.pings.parquet_types import (
    INSTANT,
    INSTANT_NS,
    WALL_CLOCK,
    WALL_CLOCK_NS,
    bits_of_column,
    classify_column,
    find_column,
    open_parquet,
)

Look = Callable[[pq.ParquetFile, str], str]

# Sorts that mean the same in two units. Whoever reads the rows has to look at the unit of each file.
_TWO_UNITS = ({INSTANT, INSTANT_NS}, {WALL_CLOCK, WALL_CLOCK_NS})


def compare_types(files: Sequence[str], names: Sequence[str], path: str) -> dict[str, set[str]]:
    """Return the sorts in which files, given as Spark's URIs, keep each column; refuse files that contradict others.

    A column has one sort, or two that differ in the unit of time only, or none where all files lack it. A damaged file
    is left to whoever reads its rows, and says so.
    """
    sorts = _look_at_columns(files, names, path, classify_column)
    for name, different in sorts.items():
        if len(different) > 1 and different not in _TWO_UNITS:
            raise InvalidInput(
                f"input: column `{name}` of {path} has in some files other types than the other files' "
                f"({', '.join(sorted(different))}); convert them, so that all files keep it alike"
            )
    return sorts


def require_same_bits(files: Sequence[str], names: Sequence[str], path: str) -> None:
    """Refuse files that keep a column's numbers in other bits than other files, for a Spark that cannot widen them."""
    for name, different in _look_at_columns(files, names, path, bits_of_column).items():
        if len(different) > 1:
            raise InvalidInput(
                f"input: column `{name}` of {path} has in some files other bits than in others "
                f"({', '.join(sorted(different))}), which Spark before version 4 cannot read together; convert them, "
                "so that all files keep it alike"
            )


def _look_at_columns(files: Sequence[str], names: Sequence[str], path: str, look: Look) -> dict[str, set[str]]:
    seen = read_each(files, partial(_look_at_file, names=names, look=look), path)
    return {name: {found[name] for found in seen if name in found} for name in names}


def _look_at_file(fs: AbstractFileSystem, file: str, names: Sequence[str], look: Look) -> dict[str, str]:
    with fs.open(file, "rb") as opened:
        try:
            footer = open_parquet(opened)
            found = {name: find_column(footer, name) for name in names}
            return {name: look(footer, theirs) for name, theirs in found.items() if theirs is not None}
        except pa.ArrowException:
            return {}
