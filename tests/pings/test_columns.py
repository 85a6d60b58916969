"""Columns that are missing, of another type or there twice are named, with the remedy, before any row is read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.pings.reading import PINGS, SECRET, refusal, settings, write_parquet
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import read_pings


def test_wrong_columns_are_named_with_the_remedy(spark: SparkSession, tmp_path: Path) -> None:
    file = write_parquet(tmp_path / "a.parquet", caid=["u"], latitude=[1.0], longitude=[2.0], utc_timestamp=[3])
    said = refusal(spark, settings(file))
    for part in ("`user_id`", "`caid`", "`latitude`", "`utc_timestamp`", "input.columns"):
        assert part in said


def test_wrong_types_are_named(spark: SparkSession, tmp_path: Path) -> None:
    good = {"user_id": ["u"], "lat": [1.0], "lon": [2.0], "ts": [3]}
    for ours, wrong, kind in [
        ("user_id", [1.5], "double"),
        ("lat", [True], "boolean"),
        ("ts", pa.array([1], pa.date32()), "date"),
        ("lon", [[1.0]], "array<double>"),
    ]:
        file = write_parquet(tmp_path / f"{ours}.parquet", **good | {ours: wrong})
        said = refusal(spark, settings(file))
        assert f"`{ours}`" in said
        assert kind in said


def test_the_schema_is_checked_before_any_row_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """Pages destroyed, footer whole: rows cannot be read, the schema can, and must be what is refused."""
    file = write_parquet(tmp_path / "a.parquet", caid=["u"] * 100, latitude=[1.0] * 100)
    raw = bytearray(file.read_bytes())
    raw[4:60] = b"\xff" * 56
    file.write_bytes(bytes(raw))
    assert "`user_id`" in refusal(spark, settings(file))


def test_a_dataframe_with_two_columns_of_one_name_is_refused(spark: SparkSession) -> None:
    """And no name is repeated: a frame may have been read from text without a header, by its first row."""
    frame = spark.sql(f"select *, 1 {SECRET.replace('-', '_')}, 3 lat from ({PINGS})")
    with pytest.raises(InvalidInput, match="more than one, called `lat` for `lat` in DataFrame trips") as caught:
        read_pings(spark, InputSettings(dataframe="trips"), frame)
    assert SECRET.replace("-", "_") not in str(caught.value)
