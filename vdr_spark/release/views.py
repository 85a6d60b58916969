"""A release in Spark: its rows of the table `cells`, and views for SQL."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Slices
from vdr_spark.grid import Grid
from vdr_spark.release.cell_source import EVERYTHING, CellsInMemory
from vdr_spark.release.choice import choose_release, no_release_yet
from vdr_spark.release.read import build_release, open_cells
from vdr_spark.release.release import Release
from vdr_spark.release.stored_cells import COLUMNS, assemble_cells
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES
from vdr_spark.storage.tables import open_table, read_rows, read_table


def select_cells(spark: SparkSession, folder: OutputFolder, release_id: str) -> DataFrame:
    """Return the rows of `cells` of one release. The table holds every release."""
    return open_table(spark, folder.table(CELLS.name)).where(F.col("release_id") == release_id)


def read_back(spark: SparkSession, folder: OutputFolder, release_id: str, grid: Grid) -> tuple[Slices, Slices | None]:
    """Return counts and deviations of a release, published or about to be, each (T, M, M).

    On a local disk without Spark; elsewhere, and by a table's name, by Spark, whose credentials wrote it.
    """
    if folder.schema is None and is_local(folder.root):
        return open_cells(folder.root, release_id, grid).read(EVERYTHING)
    cells = to_arrow(select_cells(spark, folder, release_id).select(*COLUMNS))
    return assemble_cells(cells.to_batches(), folder.table(CELLS.name), release_id, grid)


def read_by_spark(
    spark: SparkSession, folder: OutputFolder, release_id: str | None = None, region: str | None = None
) -> Release:
    """Return a release as `read_release` does, through Spark: of tables whose files a catalog keeps to itself."""
    rows = read_rows(_published(spark, folder))
    row = choose_release(rows, folder.tables, release_id, region)
    return build_release(row, folder, lambda chosen, grid: CellsInMemory(*read_back(spark, folder, chosen, grid)))


def register_views(
    spark: SparkSession,
    output: str,
    release_id: str | None = None,
    region: str | None = None,
    tables: str | None = None,
) -> None:
    """Make temporary views for SQL: `cells` of one release, chosen as by `read_release`, and all `releases`.

    The table behind `cells` holds every release; adding those up would count people several times. `tables` is the
    schema in which the tables have names, where the configuration says so.
    """
    folder = OutputFolder.at(output, tables)
    releases = _published(spark, folder)
    chosen = choose_release(read_rows(releases.drop("statement")), folder.tables, release_id, region)
    select_cells(spark, folder, chosen["release_id"]).createOrReplaceTempView("cells")
    releases.createOrReplaceTempView("releases")


def _published(spark: SparkSession, folder: OutputFolder) -> DataFrame:
    releases = read_table(spark, folder.table(RELEASES.name))
    if releases is None:
        raise no_release_yet(folder.tables)
    return releases
