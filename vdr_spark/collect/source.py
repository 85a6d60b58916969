"""Where the pings come from, as Arrow batches inside tasks.

* `ThroughSpark` takes any DataFrame: Spark reads, and hands the rows to Python.
* `DirectParquet` lets the tasks read plain Parquet files themselves. Handing a row from Spark to Python costs more
  than everything else that happens to it, so this is much faster (docs/performance.md). It is used where it means
  the same: local or mounted files whose columns need no conversion. Delta tables always go through Spark, which
  knows about deleted rows.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol
from urllib.parse import unquote, urlparse

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from vdr_spark.collect.locate import PING_COLUMNS
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Grid
from vdr_spark.pings.parquet_schemas import (
    INSTANT,
    INSTANT_NS,
    NUMBER,
    TEXT,
    WHOLE_NUMBER,
    column_in,
    parquet_file,
    sort_of,
)
from vdr_spark.pings.readers import plain_columns, read_pings
from vdr_spark.workers import ArrowTask, TaskProblem, in_worker

# How Spark cuts what it hands to Python into batches: small enough that one side packs while the other unpacks.
_BY_BYTES = {"spark.sql.execution.arrow.maxBytesPerBatch": "8m"}
# But Spark adds up a batch's bytes again for every row, which for pings takes longer than handing them over.
_BY_ROWS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}
_SPLIT = 128 << 20  # bytes of a file that one task reads, as Spark would cut it
_ROWS_A_BATCH = 1 << 16
_MOST_MILLISECONDS = (2**63 - 1) // 1000  # that microseconds can hold
_SORTS = {
    pa.string(): {TEXT},
    pa.int64(): {WHOLE_NUMBER},
    pa.float64(): {NUMBER},
    pa.timestamp("us", "UTC"): {INSTANT, INSTANT_NS},
}


class Source(Protocol):
    """Pings as `user_id, lat, lon, ts`."""

    @property
    def id_type(self) -> str:
        """Of `user_id`: bigint or string."""
        ...

    @property
    def arrow_settings(self) -> dict[str, str]:
        """Spark's settings for jobs that read from here."""
        ...

    def map(self, task: ArrowTask, schema: str) -> DataFrame:
        """What `task` makes of the pings, batch by batch, in parallel."""
        ...


def source_of(spark: SparkSession, settings: InputSettings, grids: Sequence[Grid]) -> Source:
    """The pings that `settings` describe. Paths and schemas are looked at, no row is."""
    through_spark = ThroughSpark(read_pings(spark, settings), grids)
    if settings.reader == "spark":
        return through_spark
    columns = plain_columns(spark, settings)
    files = through_spark.pings.inputFiles() if columns is not None else []
    if columns is not None and all(urlparse(file).scheme == "file" for file in files):
        splits = tuple(split for file in files for split in splits_of(file))
        return DirectParquet(spark, splits, columns, through_spark.id_type)
    if settings.reader == "direct":
        raise InvalidInput(
            "input.reader: `direct` needs plain Parquet files on a local or mounted disk, with an id that is text or a "
            f"whole number, degrees as double or float, and a timestamp; {settings.path} is not that. Set it to `auto`"
        )
    return through_spark


@dataclass(frozen=True)
class ThroughSpark:
    pings: DataFrame
    grids: Sequence[Grid]

    @property
    def id_type(self) -> str:
        # By class: text with a collation has another name, and is text all the same.
        return "string" if isinstance(self.pings.schema["user_id"].dataType, StringType) else "bigint"

    @property
    def arrow_settings(self) -> dict[str, str]:
        return _BY_ROWS

    def map(self, task: ArrowTask, schema: str) -> DataFrame:
        # What lies outside is left to Spark, which may not even have to read it.
        inside = reduce(or_, (grid.inside_column(F.col("lat"), F.col("lon"), F.col("ts")) for grid in self.grids))
        user = F.col("user_id").cast(self.id_type).alias("user_id")
        located = self.pings.where(inside).select(user, F.col("lat"), F.col("lon"), F.col("ts"))
        return located.mapInArrow(in_worker(task), schema)


@dataclass(frozen=True)
class Split:
    """The row groups of a file that begin in a stretch of its bytes."""

    uri: str
    begin: int
    end: int


@dataclass(frozen=True)
class DirectParquet:
    spark: SparkSession
    splits: tuple[Split, ...]
    columns: dict[str, str]  # ours: theirs
    id_type: str

    @property
    def arrow_settings(self) -> dict[str, str]:
        return _BY_BYTES

    def map(self, task: ArrowTask, schema: str) -> DataFrame:
        splits, columns, id_type = self.splits, self.columns, self.id_type  # what the tasks need, without `spark`

        def read_and_map(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            numbers = (number for batch in batches for number in batch.column(0).to_pylist())
            return task(batch for number in numbers for batch in read_split(splits[number], columns, id_type))

        tasks = self.spark.range(0, len(splits), 1, max(1, len(splits)))
        return tasks.mapInArrow(in_worker(read_and_map), schema)


def splits_of(uri: str) -> Iterator[Split]:
    for begin in range(0, os.path.getsize(_path(uri)), _SPLIT):
        yield Split(uri, begin, begin + _SPLIT)


def read_split(split: Split, columns: dict[str, str], id_type: str) -> Iterator[pa.RecordBatch]:
    """The pings of a split, under our names and types; none of a file that lacks a column, as Spark would see it."""
    try:
        with parquet_file(_path(split.uri)) as file:
            groups = [group for group in range(file.num_row_groups) if split.begin <= _begin(file, group) < split.end]
            theirs = [name for ours in PING_COLUMNS if (name := column_in(file, columns[ours])) is not None]
            if not groups or len(theirs) < len(PING_COLUMNS):
                return
            kinds = [_checked(file, name, kind) for name, kind in zip(theirs, _kinds(id_type), strict=True)]
            for batch in file.iter_batches(_ROWS_A_BATCH, row_groups=groups, columns=theirs, use_threads=False):
                cast = [_cast(batch.column(name), kind) for name, kind in zip(theirs, kinds, strict=True)]
                yield pa.RecordBatch.from_arrays(cast, names=list(PING_COLUMNS))
    except (pa.ArrowException, OSError):
        # Arrow's words may quote the file. The stage knows how to say this.
        raise TaskProblem(f"FAILED_READ_FILE {split.uri}") from None


def _kinds(id_type: str) -> list[pa.DataType]:
    user = pa.string() if id_type == "string" else pa.int64()
    return [user, pa.float64(), pa.float64(), pa.timestamp("us", "UTC")]


def _checked(file: pq.ParquetFile, name: str, kind: pa.DataType) -> pa.DataType:
    """Our type for a column, unless the file's is of another sort than the first file's: Spark would refuse it too."""
    if sort_of(file, name) not in _SORTS[kind]:
        raise pa.ArrowInvalid("a column of another type")
    return kind


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    """To our type. A time too far away for microseconds becomes null: it lies in no period."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return _floored(column).view(kind)
    if pa.types.is_timestamp(column.type) and column.type.unit == "ms":
        number = column.view(pa.int64())
        held = pc.and_(pc.less_equal(number, _MOST_MILLISECONDS), pc.greater_equal(number, -_MOST_MILLISECONDS))
        column = pc.if_else(held, column, pa.scalar(None, column.type))
    return column.cast(kind)


def _floored(nanoseconds: pa.Array) -> pa.Array:
    """Whole microseconds, so that before 1970 too no time moves into the next slice."""
    # floor_temporal would wrap around at the earliest of times.
    number = nanoseconds.view(pa.int64())
    towards_zero = pc.divide(number, 1000)
    return pc.subtract(towards_zero, pc.less(number, pc.multiply(towards_zero, 1000)).cast(pa.int64()))


def _begin(file: pq.ParquetFile, row_group: int) -> int:
    first = file.metadata.row_group(row_group).column(0)
    return int(first.dictionary_page_offset or first.data_page_offset)


def _path(uri: str) -> str:
    return unquote(urlparse(uri).path)
