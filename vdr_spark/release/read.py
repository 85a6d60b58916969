"""Reading a release back from its Delta tables: as an object for Python, as views for SQL."""

from __future__ import annotations

from typing import Any

import numpy as np
from delta.tables import DeltaTable
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.config import absolute
from vdr_spark.errors import StageMissing
from vdr_spark.grid import Box, Grid
from vdr_spark.release.model import Release
from vdr_spark.storage.tables import CELLS, RELEASES, rows_of

Slices = NDArray[np.float32]


def read_release(spark: SparkSession, output: str, release_id: str | None = None) -> Release:
    """The release of that id in an output folder; the newest one where no id is given."""
    row = _release_row(spark, output, release_id)
    box = Box(row["south"], row["west"], row["north"], row["east"])
    grid = Grid(box, row["cells_per_side"], row["period_start"], row["slice_seconds"], row["slices"])
    return Release(row["release_id"], grid, *read_cells(spark, output, row["release_id"], grid), row["protected"])


def read_cells(spark: SparkSession, output: str, release_id: str, grid: Grid) -> tuple[Slices, Slices | None]:
    """Counts and, where there are any, deviations of a release, each (T, M, M), published or about to be."""
    cells = spark.read.format("delta").load(_table(output, CELLS.name))
    mine = cells.where(F.col("release_id") == release_id)
    table = mine.select("slice", "y", "x", "count", "deviation").toArrow()
    place = tuple(table.column(name).to_numpy() for name in ("slice", "y", "x"))
    counts = np.zeros(grid.shape, dtype=np.float32)
    counts[place] = table.column("count").to_numpy()
    deviation = None
    if table.column("deviation").null_count == 0:
        deviation = np.zeros(grid.shape, dtype=np.float32)
        deviation[place] = table.column("deviation").to_numpy()
    return counts, deviation


def register_views(spark: SparkSession, output: str, release_id: str | None = None) -> None:
    """Temporary views for SQL: `cells` of one release, the newest where no id is given, and all `releases`.

    The table behind `cells` holds every release; adding those up would count people several times.
    """
    row = _release_row(spark, output, release_id)
    cells = spark.read.format("delta").load(_table(output, CELLS.name))
    cells.where(F.col("release_id") == row["release_id"]).createOrReplaceTempView("cells")
    spark.read.format("delta").load(_table(output, RELEASES.name)).createOrReplaceTempView("releases")


def _release_row(spark: SparkSession, output: str, release_id: str | None) -> dict[str, Any]:
    _require(spark, output, RELEASES.name)
    rows = rows_of(spark.read.format("delta").load(_table(output, RELEASES.name)).orderBy(F.col("created").desc()))
    for row in rows:
        if release_id in (None, row["release_id"]):
            return row
    there = ", ".join(row["release_id"] for row in rows) or "none"
    raise StageMissing(
        f"release {release_id} is not published in {output}; run `vdr release` first, or ask one that is there: {there}"
    )


def _table(output: str, name: str) -> str:
    return f"{absolute(output)}/tables/{name}"


def _require(spark: SparkSession, output: str, name: str) -> None:
    if not DeltaTable.isDeltaTable(spark, _table(output, name)):
        raise StageMissing(f"nothing is published in {output} yet; run `vdr release` first")
