"""A release in Spark: its rows of the table `cells`, and views for SQL."""

from __future__ import annotations

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Slices
from vdr_spark.grid import Grid
from vdr_spark.release.choice import choose_release, no_release_yet
from vdr_spark.release.read import CELL_COLUMNS, assemble_cells, read_cells, table_path
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.paths import absolute, is_local
from vdr_spark.storage.schemas import CELLS, RELEASES, Table
from vdr_spark.storage.tables import read_rows


def select_cells(spark: SparkSession, output: str, release_id: str) -> DataFrame:
    """Return the rows of `cells` of one release. The table holds every release."""
    return _read_table(spark, output, CELLS).where(F.col("release_id") == release_id)


def read_back(spark: SparkSession, output: str, release_id: str, grid: Grid) -> tuple[Slices, Slices | None]:
    """Return counts and deviations of a release, published or about to be, each (T, M, M).

    On a local disk without Spark; elsewhere by Spark, whose credentials wrote it.
    """
    if is_local(absolute(output)):
        return read_cells(output, release_id, grid)
    cells = to_arrow(select_cells(spark, output, release_id).select(*CELL_COLUMNS))
    return assemble_cells(cells.to_batches(), output, release_id, grid)


def register_views(spark: SparkSession, output: str, release_id: str | None = None, region: str | None = None) -> None:
    """Make temporary views for SQL: `cells` of one release, chosen as by `read_release`, and all `releases`.

    The table behind `cells` holds every release; adding those up would count people several times.
    """
    if not DeltaTable.isDeltaTable(spark, table_path(output, RELEASES)):
        raise no_release_yet(output)
    releases = _read_table(spark, output, RELEASES)
    chosen = choose_release(read_rows(releases.drop("statement")), output, release_id, region)
    select_cells(spark, output, chosen["release_id"]).createOrReplaceTempView("cells")
    releases.createOrReplaceTempView("releases")


def _read_table(spark: SparkSession, output: str, table: Table) -> DataFrame:
    return spark.read.format("delta").load(table_path(output, table))
