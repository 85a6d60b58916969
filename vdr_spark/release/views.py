"""A release in Spark: its rows of the table `cells`, and views for SQL."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Slices
from vdr_spark.grid import Grid
from vdr_spark.release.cell_source import EVERYTHING, CellsInMemory
from vdr_spark.release.choice import choose_release, no_release_yet
from vdr_spark.release.read import build_release, open_cells
from vdr_spark.release.release import Release
from vdr_spark.release.sql_functions import series_views
from vdr_spark.release.sql_install import run_script, script_by_spark
from vdr_spark.release.stored_cells import COLUMNS, assemble_cells
from vdr_spark.release.withdrawals import Withdrawal, by_release, require_from_before
from vdr_spark.spark_errors import pass_over_conflicts
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES, WITHDRAWALS
from vdr_spark.storage.tables import (
    append_once,
    find_schema_version,
    is_delta_table,
    only_writer,
    open_table,
    read_rows,
    read_table,
)


def select_cells(spark: SparkSession, folder: OutputFolder, release_id: str) -> DataFrame:
    """Return the rows of `cells` of one release. The table holds every release."""
    return open_table(spark, folder.table(CELLS.name), CELLS).where(F.col("release_id") == release_id)


def read_back(spark: SparkSession, folder: OutputFolder, release_id: str, grid: Grid) -> tuple[Slices, Slices | None]:
    """Return counts and deviations of a release, published or about to be, each (T, M, M).

    On a local disk without Spark; elsewhere, and by a table's name, by Spark, whose credentials wrote it.
    """
    if folder.schema is None and is_local(folder.root):
        return open_cells(folder.root, release_id, grid).read(EVERYTHING)
    cells = to_arrow(select_cells(spark, folder, release_id).select(*COLUMNS))
    return assemble_cells(cells.to_batches(), folder.table(CELLS.name), release_id, grid)


def read_by_spark(
    spark: SparkSession,
    folder: OutputFolder,
    release_id: str | None = None,
    region: str | None = None,
    allow_withdrawn: bool = False,
) -> Release:
    """Return a release as `read_release` does, through Spark: of tables whose files a catalog keeps to itself."""
    rows, gone = rows_by_spark(spark, folder), withdrawals_by_spark(spark, folder)
    row = choose_release(rows, folder.tables, release_id, region, None if allow_withdrawn else gone)
    return build_release(row, folder, lambda chosen, grid: CellsInMemory(*read_back(spark, folder, chosen, grid)), gone)


def rows_by_spark(spark: SparkSession, folder: OutputFolder) -> list[dict[str, Any]]:
    """Return the rows of `releases`, moments in UTC, withdrawn ones too; refused where there is no such table."""
    return read_rows(_published(spark, folder))


def withdrawals_by_spark(spark: SparkSession, folder: OutputFolder) -> dict[str, Withdrawal]:
    """Return what was withdrawn; nothing where the tables are from before there was any."""
    return by_release(read_rows(_withdrawn(spark, folder)))


def mark_by_spark(spark: SparkSession, place: Place, withdrawal: Withdrawal, transaction: str) -> None:
    """Write a row of `withdrawals`, which exists; another one under the same transaction name changes nothing."""
    row = tuple(getattr(withdrawal, name) for name in WITHDRAWALS.names)
    frame = spark.createDataFrame([row], WITHDRAWALS.schema).coalesce(1)
    with only_writer(spark, place), pass_over_conflicts():
        append_once(frame, place, WITHDRAWALS, transaction)


def register_views(
    spark: SparkSession,
    output: str,
    release_id: str | None = None,
    region: str | None = None,
    tables: str | None = None,
    allow_withdrawn: bool = False,
) -> None:
    """Make temporary views for SQL: `cells` of one release, chosen as by `read_release`, `releases`, `withdrawals`.

    And, where Spark has SQL functions (from 4 on), the table functions `range_count`, `series`, `hour_profile` and
    `hotspots` of that release, with the views that they read. The table behind `cells` holds every release; adding
    those up would count people several times. `releases` holds those that may be used; with `allow_withdrawn` all of
    them, and `withdrawals` says which were withdrawn. `tables` is the schema in which the tables have names, where the
    configuration says so.
    """
    folder = OutputFolder.at(output, tables)
    releases, gone = _published(spark, folder), _withdrawn(spark, folder)
    rows, withdrawals = read_rows(releases), by_release(read_rows(gone))
    chosen = choose_release(rows, folder.tables, release_id, region, None if allow_withdrawn else withdrawals)
    select_cells(spark, folder, chosen["release_id"]).createOrReplaceTempView("cells")
    usable = releases if allow_withdrawn else releases.join(gone, "release_id", "left_anti")
    usable.createOrReplaceTempView("releases")
    gone.createOrReplaceTempView("withdrawals")
    release = build_release(chosen, folder, lambda _, grid: open_cells(output, chosen["release_id"], grid), withdrawals)
    run_script(spark, script_by_spark(spark, release, temporary=True))


def register_series(spark: SparkSession, output: str, tables: str | None = None) -> None:
    """Make temporary views of all series of an output: `windows`, and `series_cells`, their cells without any twice.

    What is published, corrected or withdrawn later is seen in them. `tables` is the schema of the tables, if any.
    """
    folder = OutputFolder.at(output, tables)
    _published(spark, folder)
    for statement in series_views(folder, "spark", temporary=True):
        spark.sql(statement)


def _published(spark: SparkSession, folder: OutputFolder) -> DataFrame:
    releases = read_table(spark, folder.table(RELEASES.name), RELEASES)
    if releases is None:
        raise no_release_yet(folder.tables)
    return releases


def _withdrawn(spark: SparkSession, folder: OutputFolder) -> DataFrame:
    place, releases = folder.table(WITHDRAWALS.name), folder.table(RELEASES.name)
    withdrawn = read_table(spark, place, WITHDRAWALS)
    if withdrawn is not None:
        return withdrawn
    if is_delta_table(spark, releases):
        require_from_before(place, find_schema_version(spark, releases, RELEASES))
    return spark.createDataFrame([], WITHDRAWALS.schema)
