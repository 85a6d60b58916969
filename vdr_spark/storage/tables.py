"""The Delta tables by Spark: how they come into being, are written once, and are read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from delta.tables import DeltaTable
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from vdr_spark.errors import InvalidConfig
from vdr_spark.spark_versions import import_delta_exceptions
from vdr_spark.storage.delta_log import remove_log_without_commit
from vdr_spark.storage.schemas import Table

exceptions = import_delta_exceptions()
# What Delta raises in the one of two writers that came second. In Python they have no common base class.
COMMIT_CONFLICTS: tuple[type[Exception], ...] = (
    exceptions.DeltaConcurrentModificationException,
    exceptions.ConcurrentAppendException,
    exceptions.ConcurrentTransactionException,
    exceptions.ConcurrentWriteException,
    exceptions.MetadataChangedException,
    exceptions.ProtocolChangedException,
)


def create_if_missing(spark: SparkSession, path: str, table: Table) -> None:
    """Make an append-only table with its comments and constraints, unless it is there."""
    if DeltaTable.isDeltaTable(spark, path):
        return
    remove_log_without_commit(path)
    builder = DeltaTable.createIfNotExists(spark).location(path).comment(table.comment)
    for name, kind, comment in table.columns:
        builder = builder.addColumn(name, kind, comment=comment)
    if table.partition:
        builder = builder.partitionedBy(table.partition)
    builder = builder.property("delta.appendOnly", "true")
    for name, rule in table.constraints.items():
        builder = builder.property(f"delta.constraints.{name}", rule)
    try:
        builder.execute()
    except AnalysisException:
        raise InvalidConfig(f"{path} holds something that is no Delta table; choose another place for it") from None


def append_once(frame: DataFrame, path: str, table: Table, transaction: str, version: int = 1) -> None:
    """Append in one atomic commit; another append under the same transaction name and version changes nothing.

    Delta keeps name and version in the table's log, so this holds after any crash and between processes. Of two that
    try at the same moment, the later one gets one of `COMMIT_CONFLICTS`.
    """
    writer = frame.write.format("delta").mode("append")
    writer = writer.option("txnAppId", transaction).option("txnVersion", version)
    if table.partition:
        writer = writer.partitionBy(table.partition)
    writer.save(path)


def read_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Collect all rows, times in UTC. A Row of Spark's has them in the driver's own zone, and does not say so."""
    times = [field.name for field in frame.schema if isinstance(field.dataType, TimestampType)]
    numbers = frame.withColumns({name: F.unix_micros(name) for name in times}) if times else frame
    rows = [row.asDict() for row in numbers.collect()]
    return [row | {name: _to_instant(row[name]) for name in times} for row in rows]


def _to_instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def read_table(spark: SparkSession, path: str) -> DataFrame | None:
    """Return a table; None where it does not exist yet."""
    return spark.read.format("delta").load(path) if DeltaTable.isDeltaTable(spark, path) else None


def read_partition(spark: SparkSession, path: str, table: Table, value: str) -> DataFrame | None:
    """Return the rows of one draw or release; None where the table does not exist yet."""
    rows = read_table(spark, path)
    return None if rows is None else rows.where(F.col(table.partition or table.names[0]) == value)
