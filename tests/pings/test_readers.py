"""Pings from tables, DataFrames and folders; and everything that must be refused in words."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.pings.reading import NOON_S, PINGS, SECRET, refusal, rows, settings, write_parquet
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import read_pings


def test_a_table_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    """In two parts or three; a view over it, with columns by other names."""
    spark.sql("create schema if not exists our_pings")
    spark.sql(f"create or replace table our_pings.march using delta location '{tmp_path}/march' as {PINGS}")
    spark.sql("create or replace temp view renamed as select user_id u, lat, lon, ts from our_pings.march")
    utc = NOON_S
    try:
        for given, seconds in [
            ({"table": "our_pings.march"}, utc),
            ({"table": "spark_catalog.our_pings.march", "timezone": "Asia/Tokyo"}, utc - 9 * 3600),
            ({"table": "renamed", "columns": {"user_id": "u"}}, utc),
        ]:
            pings = read_pings(spark, InputSettings.model_validate(given))
            assert rows(pings) == [(0, 1.0, 2.0, seconds), (1, 1.0, 2.0, seconds)]
        spark.sql("create or replace temp view some as select * from our_pings.march limit 1")
        assert "table some is computed by a plan with a limit" in refusal(spark, InputSettings(table="some"))
        said = refusal(spark, InputSettings(table="renamed"))
        assert "called `user_id` for `user_id` in table renamed" in said
    finally:
        spark.sql("drop table our_pings.march")
        spark.sql("drop schema our_pings")


def test_a_table_that_is_not_there(spark: SparkSession) -> None:
    said = refusal(spark, InputSettings(table="nowhere.pings"))
    assert "input.table: there is no table or view nowhere.pings" in said


def test_a_dataframe_is_read_like_a_file(any_zone: SparkSession) -> None:
    frame = any_zone.sql(PINGS).withColumnRenamed("user_id", "caid")
    given = InputSettings.model_validate(
        {"dataframe": "trips", "columns": {"user_id": "CAID"}, "timezone": "Asia/Tokyo"}
    )
    expected = [(0, 1.0, 2.0, NOON_S - 9 * 3600), (1, 1.0, 2.0, NOON_S - 9 * 3600)]
    assert rows(read_pings(any_zone, given, frame)) == expected


def test_a_dataframe_and_its_name_come_together(spark: SparkSession, tmp_path: Path) -> None:
    assert "input.dataframe: the pings are to come from DataFrame trips" in refusal(
        spark, InputSettings(dataframe="trips")
    )
    with pytest.raises(InvalidInput, match=r"input\.dataframe: a DataFrame was given, but .* from path "):
        read_pings(spark, settings(tmp_path), spark.sql(PINGS))


def test_a_dataframe_of_changing_rows_is_refused(spark: SparkSession) -> None:
    frame = spark.sql(PINGS).where(F.rand() < 0.5)
    with pytest.raises(InvalidInput, match="DataFrame trips is computed by a plan with the function Rand"):
        read_pings(spark, InputSettings(dataframe="trips"), frame)


def test_delta_and_a_delta_table_taken_for_parquet(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    two = spark.sql("select id user_id, 1D lat, 2D lon, timestamp_seconds(1578398400) ts from range(2)")
    two.write.format("delta").save(table)
    two.where("user_id = 1").write.format("delta").mode("overwrite").save(table)
    assert rows(read_pings(spark, settings(tmp_path / "t", format="delta"))) == [(1, 1.0, 2.0, NOON_S)]
    # Read as Parquet the folder would bring the deleted user back.
    assert "format: delta" in refusal(spark, settings(tmp_path / "t"))


def test_a_table_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    empty = {"user_id": pa.array([], pa.string()), "lat": pa.array([], pa.float64())}
    file = write_parquet(tmp_path / "a.parquet", **empty, lon=empty["lat"], ts=pa.array([], pa.timestamp("us", "UTC")))
    assert rows(read_pings(spark, settings(file))) == []
    (tmp_path / "texts").mkdir()
    assert rows(read_pings(spark, settings(tmp_path / "texts", layout="tdrive"))) == []
    (tmp_path / "h.csv").write_text("user_id,lat,lon,ts\n")
    assert rows(read_pings(spark, settings(tmp_path / "h.csv", format="csv"))) == []


@pytest.mark.parametrize("form", ["parquet", "delta", "csv"])
def test_missing_path_and_empty_folder_are_refused(spark: SparkSession, tmp_path: Path, form: str) -> None:
    said = refusal(spark, settings(tmp_path / "nowhere", format=form))
    assert "there is nothing at" in said
    assert "nowhere" in said
    (tmp_path / "empty").mkdir()
    said = refusal(spark, settings(tmp_path / "empty", format=form))
    assert form in said.lower()
    assert "empty" in said


def test_files_of_another_format_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text(f"{SECRET},1,2,3\n")
    said = refusal(spark, settings(tmp_path / "a.parquet"))
    assert "cannot be opened as parquet" in said
    assert SECRET not in said
