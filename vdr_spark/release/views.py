"""A release in Spark: its rows of the table `cells`, and views for SQL."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.release.read import choose_release, no_release_yet, table_path


def select_cells(spark: SparkSession, output: str, release_id: str) -> DataFrame:
    """Return the rows of `cells` of one release. The table holds every release."""
    return _read_table(spark, output, "cells").where(F.col("release_id") == release_id)


def register_views(spark: SparkSession, output: str, release_id: str | None = None) -> None:
    """Make temporary views for SQL: `cells` of one release, the newest where no id is given, and all `releases`.

    The table behind `cells` holds every release; adding those up would count people several times.
    """
    if not DeltaTable.isDeltaTable(spark, table_path(output, "releases")):
        raise no_release_yet(output)
    releases = _read_table(spark, output, "releases")
    newest_first = [row[0] for row in releases.orderBy(F.col("created").desc()).select("release_id").collect()]
    chosen = choose_release(newest_first, release_id, output)
    select_cells(spark, output, chosen).createOrReplaceTempView("cells")
    releases.createOrReplaceTempView("releases")


def _read_table(spark: SparkSession, output: str, name: str) -> DataFrame:
    return spark.read.format("delta").load(table_path(output, name))
