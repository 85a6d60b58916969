"""Where the pings come from, as Arrow batches inside tasks.

* `SparkSource` takes any DataFrame: Spark reads, and hands the rows to Python.
* `DirectSource` lets the tasks read plain Parquet files themselves. Handing a row from Spark to Python costs more
  than everything else that happens to it, so this is much faster (docs/performance.md). It is used where it means
  the same: files on a disk or in S3 whose columns need no conversion, and Delta tables that are the sum of their live
  files. Others go through Spark, which knows about deleted rows, and other stores.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StringType

from vdr_spark.collect.parquet_splits import Split, can_open, read_split, split_file
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Grid
from vdr_spark.pings.plain_files import find_plain_files
from vdr_spark.pings.readers import NANOSECONDS_AS_NUMBERS, open_pings, to_canonical
from vdr_spark.spark.grid_columns import inside_column
from vdr_spark.storage.arrow_files import FileAccess
from vdr_spark.storage.paths import is_file_uri
from vdr_spark.storage.store_access import arrow_options, scheme_of
from vdr_spark.workers import ArrowTask, in_worker

logger = logging.getLogger(__name__)

# How Spark cuts what it hands to Python into batches: small enough that one side packs while the other unpacks.
_BY_BYTES = {"spark.sql.execution.arrow.maxBytesPerBatch": "8m"}
# But Spark adds up a batch's bytes again for every row, which for pings takes longer than handing them over.
_BY_ROWS = {
    "spark.sql.execution.arrow.maxBytesPerBatch": str(2**31 - 1),
    "spark.sql.execution.arrow.maxRecordsPerBatch": "10000",
}


class Source(Protocol):
    """Pings as `user_id, lat, lon, ts`."""

    @property
    def id_type(self) -> str:
        """The type of `user_id`: bigint or string."""
        ...

    @property
    def arrow_settings(self) -> dict[str, str]:
        """Spark's settings for jobs that read from here."""
        ...

    def map(self, task: ArrowTask, schema: str) -> DataFrame:
        """Apply `task` to the pings, batch by batch, in parallel."""
        ...


def open_source(
    spark: SparkSession, settings: InputSettings, grids: Sequence[Grid], frame: DataFrame | None = None
) -> Source:
    """Open the pings that `settings` describe; `frame` is the DataFrame where they name one.

    Paths, plans and schemas are looked at, no row is.
    """
    opened = open_pings(spark, settings, frame)
    plain = find_plain_files(opened, settings) if settings.reader != "spark" else None
    splits = _find_splits(spark, plain.files) if plain is not None else None
    if plain is not None and splits is not None:
        return DirectSource(spark, splits, plain.columns, _id_type(opened.columns["user_id"].dataType))
    if settings.reader == "direct":
        raise InvalidInput(
            "input.reader: `direct` needs plain Parquet files on a local or mounted disk or in S3, where tasks reach "
            "them by pyarrow, or a Delta table of such without deletion vectors and column mapping, with an id that is "
            f"text or a whole number, degrees as double or float, and a timestamp; {settings.location} is not that. "
            "Set it to `auto`"
        )
    return SparkSource(to_canonical(opened, settings), grids)


def _find_splits(spark: SparkSession, files: Sequence[str]) -> tuple[Split, ...] | None:
    """Cut files into what tasks read themselves; None where they cannot be reached without Spark."""
    if all(is_file_uri(file) for file in files):
        return tuple(split for file in files for split in split_file(file))
    if any(scheme_of(file) != "s3" for file in files):
        return None
    try:
        access = FileAccess(arrow_options(files[0]))
        splits = tuple(split for file in files for split in split_file(file, access))
        return splits if not splits or _workers_reach(spark, splits[0]) else None
    except (OSError, pa.ArrowException):  # keys that only Spark has, an address that only Spark knows
        logger.info("this process does not reach the pings' files by pyarrow, so Spark reads them")
        return None


def _workers_reach(spark: SparkSession, split: Split) -> bool:
    """Whether a task can open a file: executors may have other rights than this process. No row is read."""

    def look(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            yield pa.RecordBatch.from_pydict({"reached": [can_open(split)]})

    reached = spark.range(1).mapInArrow(in_worker(look), "reached boolean").collect()
    if not all(row.reached for row in reached):
        logger.info("tasks do not reach the pings' files by pyarrow, so Spark reads them")
    return all(row.reached for row in reached)


@dataclass(frozen=True)
class SparkSource:
    """Pings that Spark reads and hands to the tasks."""

    pings: DataFrame
    grids: Sequence[Grid]

    @property
    def id_type(self) -> str:
        return _id_type(self.pings.schema["user_id"].dataType)

    @property
    def arrow_settings(self) -> dict[str, str]:
        return _BY_ROWS | NANOSECONDS_AS_NUMBERS

    def map(self, task: ArrowTask, schema: str) -> DataFrame:
        # What lies outside is left to Spark, which may not even have to read it.
        inside = reduce(or_, (inside_column(grid, F.col("lat"), F.col("lon"), F.col("ts")) for grid in self.grids))
        user = F.col("user_id").cast(self.id_type).alias("user_id")
        located = self.pings.where(inside).select(user, F.col("lat"), F.col("lon"), F.col("ts"))
        return located.mapInArrow(in_worker(task), schema)


@dataclass(frozen=True)
class DirectSource:
    """Pings in Parquet files that the tasks read themselves."""

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


def _id_type(kind: DataType) -> str:
    # By class: text with a collation has another name, and is text all the same.
    return "string" if isinstance(kind, StringType) else "bigint"
