"""How the Delta tables come into being, also where an earlier run was killed while it made them."""

from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.storage.test_delta_log import HALF_A_COMMIT, leave
from vdr_spark.errors import InvalidConfig
from vdr_spark.storage.schemas import CELLS, LEDGER, NOISY_SLICES, RELEASES, Table
from vdr_spark.storage.tables import create_if_missing

TABLES = (LEDGER, NOISY_SLICES, RELEASES, CELLS)


@pytest.mark.parametrize("left", ["_delta_log/", "_delta_log/_staged_commits/", HALF_A_COMMIT])
def test_a_table_whose_making_was_killed_is_made(spark: SparkSession, tmp_path: Path, left: str) -> None:
    leave(tmp_path / "table", left)
    create_if_missing(spark, str(tmp_path / "table"), RELEASES)
    assert DeltaTable.isDeltaTable(spark, str(tmp_path / "table"))


def test_a_place_that_holds_something_else_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    leave(tmp_path / "table", "notes.txt")
    with pytest.raises(InvalidConfig, match="no Delta table"):
        create_if_missing(spark, str(tmp_path / "table"), RELEASES)
    assert (tmp_path / "table/notes.txt").exists()


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_column_says_what_it_is(spark: SparkSession, tmp_path: Path, table: Table) -> None:
    """In Delta itself, where a person who finds the table looks."""
    create_if_missing(spark, str(tmp_path / "table"), table)
    stored = spark.read.format("delta").load(str(tmp_path / "table")).schema
    comments = {field.name: field.metadata.get("comment", "") for field in stored}
    assert comments == {name: comment for name, _, comment in table.columns}
    assert all(comments.values())


def test_places_in_cells_are_centres() -> None:
    comments = {name: comment for name, _, comment in CELLS.columns}
    assert "centre of the cell" in comments["lat"]
    assert "centre of the cell" in comments["lon"]
