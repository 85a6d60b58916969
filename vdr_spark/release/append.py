"""Rows of a release into a table, through Spark: once, and to the exclusion of other publishers."""

from __future__ import annotations

from pyspark.sql import DataFrame

from vdr_spark.plan import ReleasePlan
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.storage.schemas import Table
from vdr_spark.storage.tables import append_once, create_if_missing, only_writer

# Spark's default, INT96, has no statistics: no engine could pass over what lies in another time.
_MOMENTS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


def transaction_of(release: ReleasePlan) -> str:
    """Return the name by which Delta remembers that a release was written."""
    return f"release:{release.release_id}"


def append_rows(frame: DataFrame, release: ReleasePlan, table: Table) -> None:
    """Append to a table once, and to the exclusion of other publishers, who may write another release into it."""
    spark, place = frame.sparkSession, release.plan.output.table(table.name)
    if not isinstance(place, str):
        create_if_missing(spark, place, table)  # before that a name leads to no folder that could be locked
    with only_writer(spark, place), settings_of_spark(spark, _MOMENTS):
        create_if_missing(spark, place, table)
        append_once(frame, place, table, transaction_of(release))
