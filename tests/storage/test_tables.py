"""How the Delta tables come into being, also where an earlier run was killed while it made them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from tests.storage.test_delta_log import HALF_A_COMMIT, leave
from vdr_spark.errors import InvalidConfig, OtherVersion
from vdr_spark.storage.catalog import CatalogTable, Place
from vdr_spark.storage.delta_creation import append_row_once, create_by_delta_rs
from vdr_spark.storage.schemas import (
    CELLS,
    LEDGER,
    NOISY_SLICES,
    RELEASES,
    VERSION_PROPERTY,
    WITHDRAWALS,
    Table,
)
from vdr_spark.storage.tables import append_once, create_if_missing, migrate, read_rows, read_table

TABLES = (LEDGER, NOISY_SLICES, RELEASES, CELLS, WITHDRAWALS)
LATER = RELEASES.later_than(1)


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
    properties = {row.key: row.value for row in spark.sql(f"SHOW TBLPROPERTIES delta.`{tmp_path}/table`").collect()}
    assert properties[VERSION_PROPERTY] == str(table.version)


@pytest.mark.parametrize("named", [False, True], ids=["path", "name"])
def test_a_table_of_an_older_version_is_read_and_brought_up_to_date(
    spark: SparkSession, tmp_path: Path, named: bool
) -> None:
    place: Place = CatalogTable("vdr_older") if named else str(tmp_path / "table")
    name = "vdr_older" if named else f"delta.`{place}`"
    columns = ", ".join(f"{column} {kind}" for column, kind, _ in RELEASES.columns if column not in LATER)
    at = f" LOCATION '{tmp_path}/table'" if named else ""
    spark.sql(f"CREATE TABLE {name} ({columns}) USING delta{at}")
    try:
        spark.sql(f"INSERT INTO {name} (release_id, gamma) VALUES ('old-1', 2)")
        frame = read_table(spark, place, RELEASES)
        assert frame is not None
        assert [frame.schema[column].dataType.simpleString() for column in LATER] == ["double"] * 3 + ["string"] * 5
        assert migrate(spark, place, RELEASES) == LATER
        assert migrate(spark, place, RELEASES) is None
        new = spark.createDataFrame([(*(None,) * (len(RELEASES.names)),)], RELEASES.schema.replace(" NOT NULL", ""))
        append_once(new.selectExpr(*_with(release_id="'new-2'", released_total="5d", gamma="1d")), place, RELEASES, "n")
        frame = read_table(spark, place, RELEASES)
        assert frame is not None
        rows = {row["release_id"]: row["released_total"] for row in read_rows(frame)}
        assert rows == {"old-1": None, "new-2": 5.0}
        stored = {field.name: field.metadata.get("comment") for field in frame.schema}
        assert stored["released_total"] == {column: said for column, _, said in RELEASES.columns}["released_total"]
        spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('{VERSION_PROPERTY}' = '5')")
        for use in (read_table, create_if_missing):
            with pytest.raises(OtherVersion, match="of schema version 5, and this software knows versions up to 4"):
                use(spark, place, RELEASES)
    finally:
        if named:
            spark.sql(f"DROP TABLE {name}")


def _with(**values: str) -> list[str]:
    return [f"{values.get(name, name)} AS {name}" for name in RELEASES.names]


def test_cells_in_doubles_are_refused_before_anything_is_written(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    columns = CELLS.schema.replace("FLOAT", "DOUBLE").replace(" NOT NULL", "")
    spark.sql(f"CREATE TABLE delta.`{path}` ({columns}) USING delta PARTITIONED BY (release_id)")
    with pytest.raises(OtherVersion, match=r"\(count, deviation\) and cannot be brought to schema version 2 in place"):
        create_if_missing(spark, path, CELLS)


def test_spark_keeps_the_rules_of_a_table_made_without_it(spark: SparkSession, tmp_path: Path) -> None:
    path, now = str(tmp_path / "table"), datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    create_by_delta_rs(path, WITHDRAWALS)
    create_if_missing(spark, path, WITHDRAWALS)
    append_row_once(
        path, WITHDRAWALS, "withdrawal:a-1", dict(zip(WITHDRAWALS.names, ("a-1", now, "why", "1"), strict=True))
    )
    for release_id, reason in (("a-1", "again"), ("b-2", "why")):
        row = spark.createDataFrame([(release_id, now, reason, "1")], WITHDRAWALS.schema)
        append_once(row, path, WITHDRAWALS, f"withdrawal:{release_id}")
    found = read_table(spark, path, WITHDRAWALS)
    assert found is not None
    rows = [(row["release_id"], row["withdrawn_at"], row["reason"]) for row in read_rows(found)]
    assert sorted(rows) == [("a-1", now, "why"), ("b-2", now, "why")]
    empty = spark.createDataFrame([("c-3", now, " ", "1")], WITHDRAWALS.schema)
    with pytest.raises(Exception, match=r"(?i)constraint"):
        append_once(empty, path, WITHDRAWALS, "withdrawal:c-3")


def test_places_in_cells_are_centres() -> None:
    comments = {name: comment for name, _, comment in CELLS.columns}
    assert "centre of the cell" in comments["lat"]
    assert "centre of the cell" in comments["lon"]
