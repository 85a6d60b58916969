"""The Delta tables by Spark: how they come into being, are written once, and are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from vdr_spark.errors import InvalidConfig
from vdr_spark.spark_versions import condition_of
from vdr_spark.storage.catalog import CatalogTable, Place
from vdr_spark.storage.delta_log import remove_log_without_commit
from vdr_spark.storage.paths import absolute, holds_locks
from vdr_spark.storage.schemas import Table
from vdr_spark.storage.sql_names import quote_name, quote_text

# What Spark and Delta say of a place without a Delta table.
_NO_TABLE = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST")


def create_if_missing(spark: SparkSession, place: Place, table: Table) -> None:
    """Make an append-only table with its comments and constraints, unless it is there."""
    if is_delta_table(spark, place):
        return
    if isinstance(place, str):
        remove_log_without_commit(place)
    try:
        spark.sql(_creation(f"delta.{quote_name(place)}" if isinstance(place, str) else place.quoted, table))
    except AnalysisException as problem:
        remedy = "choose another place for it" if isinstance(place, str) else "name a schema that exists and is yours"
        reason = condition_of(problem) or "no reason given"
        raise InvalidConfig(f"{place} cannot be made a Delta table ({reason}); {remedy}") from None
    if not is_delta_table(spark, place):  # of a folder with anything in it, Delta takes it that the table exists
        raise InvalidConfig(f"{place} holds something that is no Delta table; choose another place for it")


def _creation(name: str, table: Table) -> str:
    """Return the SQL that makes a table. In SQL, because the Python class DeltaTable does not work remotely."""
    columns = ", ".join(
        f"{column} {kind}{table.rule(column)} COMMENT {quote_text(said)}" for column, kind, said in table.columns
    )
    properties = {"delta.appendOnly": "true"}
    properties |= {f"delta.constraints.{rule}": text for rule, text in table.constraints.items()}
    listed = ", ".join(f"{quote_text(key)} = {quote_text(value)}" for key, value in properties.items())
    partition = f" PARTITIONED BY ({table.partition})" if table.partition else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta{partition} "
        f"COMMENT {quote_text(table.comment)} TBLPROPERTIES ({listed})"
    )


def append_once(frame: DataFrame, place: Place, table: Table, transaction: str, version: int = 1) -> None:
    """Append in one atomic commit; another append under the same transaction name and version changes nothing.

    Delta keeps name and version in the table's log, so this holds after any crash and between processes. Of two that
    try at the same moment, the later one gets an exception that `spark_errors.is_conflict` knows.
    """
    writer = frame.write.format("delta").mode("append")
    writer = writer.option("txnAppId", transaction).option("txnVersion", version)
    if table.partition:
        writer = writer.partitionBy(table.partition)
    if isinstance(place, str):
        writer.save(place)
    else:
        writer.saveAsTable(place.quoted)


def read_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Collect all rows, times in UTC. A Row of Spark's has them in the driver's own zone, and does not say so."""
    times = [field.name for field in frame.schema if isinstance(field.dataType, TimestampType)]
    numbers = frame.withColumns({name: F.unix_micros(name) for name in times}) if times else frame
    rows = [row.asDict(recursive=True) for row in numbers.collect()]
    return [row | {name: _to_instant(row[name]) for name in times} for row in rows]


def _to_instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def read_table(spark: SparkSession, place: Place) -> DataFrame | None:
    """Return a table; None where it does not exist yet."""
    return open_table(spark, place) if is_delta_table(spark, place) else None


def open_table(spark: SparkSession, place: Place) -> DataFrame:
    """Return a table that exists."""
    return spark.read.format("delta").load(place) if isinstance(place, str) else spark.table(place.quoted)


def is_delta_table(spark: SparkSession, place: Place) -> bool:
    """Return whether a Delta table was committed at a path, or above it, or has that name; refuse other tables."""
    if not isinstance(place, str):
        return spark.catalog.tableExists(place.quoted) and _describe(spark, place)["format"] == "delta"
    try:
        return bool(spark.read.format("delta").load(place).columns)  # a remote session looks only when it must answer
    except AnalysisException as problem:
        if condition_of(problem) in _NO_TABLE:
            return False
        raise


def find_folder(spark: SparkSession, place: Place) -> str | None:
    """Return where the files of a table are: a path or URI as it is; of a name, a folder on a disk of this machine.

    None where a named table does not exist yet, or is in a store, which a catalog keeps to itself.
    """
    if isinstance(place, str):
        return place
    if not is_delta_table(spark, place):
        return None
    folder = absolute(_describe(spark, place)["location"])
    return folder if holds_locks(folder) else None


def find_version(spark: SparkSession, place: CatalogTable) -> int:
    """Return the number of a table's last commit."""
    return int(spark.sql(f"DESCRIBE HISTORY {place.quoted} LIMIT 1").collect()[0]["version"])


def _describe(spark: SparkSession, place: CatalogTable) -> dict[str, Any]:
    try:
        return spark.sql(f"DESCRIBE DETAIL {place.quoted}").collect()[0].asDict()
    except AnalysisException as problem:
        reason = condition_of(problem) or "no reason given"
        raise InvalidConfig(f"tables: {place} must be a Delta table, and is something else ({reason})") from None


def read_partition(spark: SparkSession, place: Place, table: Table, value: str) -> DataFrame | None:
    """Return the rows of one draw or release; None where the table does not exist yet."""
    rows = read_table(spark, place)
    return None if rows is None else rows.where(F.col(table.partition or table.names[0]) == value)
