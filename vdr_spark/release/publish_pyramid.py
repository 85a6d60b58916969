"""Publishing the pyramid: sums of the cells that are in their table, written once, and compared with them."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Slices
from vdr_spark.plan import ReleasePlan
from vdr_spark.pyramid import Days, days_of
from vdr_spark.release.append import append_rows, transaction_of
from vdr_spark.release.pyramid_check import check_pyramid
from vdr_spark.release.pyramid_files import write_pyramid_files
from vdr_spark.release.pyramid_rows import day_column, sum_rows
from vdr_spark.release.pyramid_sums import Level, sum_levels
from vdr_spark.storage.delta_files import NewFile, append_files_once
from vdr_spark.storage.files import read_json
from vdr_spark.storage.paths import holds_locks
from vdr_spark.storage.schemas import PYRAMID
from vdr_spark.storage.tables import create_if_missing, only_writer
from vdr_spark.sum_errors import SumErrors
from vdr_spark.workers import in_worker


def write_pyramid(spark: SparkSession, release: ReleasePlan, counts: Slices, deviation: Slices | None) -> None:
    """Write the sums of released cells into their table, once, and check what is there."""
    days = days_of(release.grid, ZoneInfo(release.config.period.timezone))
    levels = list(sum_levels(counts, deviation, days))
    place = release.plan.output.table(PYRAMID.name)
    if isinstance(place, str) and holds_locks(place):
        with only_writer(spark, place):
            create_if_missing(spark, place, PYRAMID)
        _write_files(place, release, levels)
    else:
        _write_by_spark(spark, release, days)
    check_pyramid(spark, release.plan.output, release.release_id, levels)


def _write_files(table: str, release: ReleasePlan, levels: Sequence[Level]) -> None:
    """Write them straight into files of a table on a disk."""

    def write() -> list[NewFile]:
        partition = f"release_id={release.release_id}"
        return write_pyramid_files(table, partition, release.grid, levels, _errors(release), release.protected)

    append_files_once(table, PYRAMID, transaction_of(release), {"release_id": release.release_id}, write)


def _write_by_spark(spark: SparkSession, release: ReleasePlan, days: Sequence[Days]) -> None:
    """Write them through Spark, which has the credentials: each task sums whole days."""
    refined = spark.read.option("__globPaths__", "false").parquet(release.folder.refined)  # a name, no pattern
    by_day = refined.select("slice", "counts", "deviation").repartition(F.expr(day_column(days)))
    expand = in_worker(sum_rows(release.grid, release.release_id, days, _errors(release), release.protected))
    rows = by_day.sortWithinPartitions("slice").mapInArrow(expand, PYRAMID.schema)
    append_rows(rows, release, PYRAMID)


def _errors(release: ReleasePlan) -> SumErrors | None:
    notes = read_json(release.folder.refinement)["sum_errors"]
    return None if notes is None else SumErrors.from_notes(notes)
