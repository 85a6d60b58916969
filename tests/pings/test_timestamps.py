"""Times in every form that files keep them in: one instant each, whatever the session's zone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.pings.reading import NOON_S, refusal, rows, settings, write_parquet
from vdr_spark.pings.readers import read_pings


@pytest.mark.parametrize("value", [NOON_S, NOON_S * 1000, NOON_S * 1_000_000, NOON_S * 1_000_000_000, float(NOON_S)])
def test_veraset_epochs_in_every_unit(spark: SparkSession, tmp_path: Path, value: float) -> None:
    file = write_parquet(tmp_path / "a.parquet", caid=["u"], latitude=[29.5], longitude=[-95.5], utc_timestamp=[value])
    assert rows(read_pings(spark, settings(file, layout="veraset"))) == [("u", 29.5, -95.5, NOON_S)]


def test_wall_clock_columns_use_the_named_zone(any_zone: SparkSession, tmp_path: Path) -> None:
    # 02:30 on 8 March 2020 does not exist in New York; in Chicago's January it is 08:30 UTC all the same.
    wall = pa.array([datetime(2020, 1, 7, 2, 30, 0, 250_000)], pa.timestamp("us"))
    gap = pa.array([datetime(2020, 3, 8, 2, 30)], pa.timestamp("us"))
    for name, ts, zone, utc in [
        ("a", wall, "America/Chicago", datetime(2020, 1, 7, 8, 30, 0, 250_000, UTC)),
        ("b", wall, None, datetime(2020, 1, 7, 2, 30, 0, 250_000, UTC)),
        ("c", gap, "Asia/Shanghai", datetime(2020, 3, 7, 18, 30, tzinfo=UTC)),
    ]:
        file = write_parquet(tmp_path / f"{name}.parquet", user_id=["u"], lat=[1.0], lon=[2.0], ts=ts)
        assert rows(read_pings(any_zone, settings(file, timezone=zone)))[0][3] == utc.timestamp()


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo", "America/Chicago"])
def test_what_pandas_writes_by_default_is_a_wall_clock(
    any_zone: SparkSession, tmp_path: Path, zone: str | None
) -> None:
    """Naive nanoseconds, which Spark gives as plain numbers, in summer and winter, before 1973 and before 1970."""
    wall = [
        "2020-01-07 02:30:00.123456789",
        "2020-07-07 23:59:59.999999999",
        "1971-06-01",
        "1960-01-01 00:00:00.0000005",
    ]
    frame = pd.DataFrame({"user_id": range(4), "lat": 1.0, "lon": 2.0, "ts": [pd.Timestamp(time) for time in wall]})
    frame.to_parquet(tmp_path / "a.parquet")
    assert pq.read_schema(tmp_path / "a.parquet").field("ts").type == pa.timestamp("ns")
    expected = frame["ts"].dt.floor("us").dt.tz_localize(zone or "UTC")
    pings = read_pings(any_zone, settings(tmp_path / "a.parquet", timezone=zone))
    read = [row.us for row in pings.orderBy("user_id").select(F.unix_micros("ts").alias("us")).collect()]
    assert read == [moment.value // 1000 for moment in expected]


def test_instants_in_nanoseconds_are_instants_whatever_the_zone(spark: SparkSession, tmp_path: Path) -> None:
    ns = [0, 999, -1, 10**16, 10**17 - 1, 2**63 - 1, None]  # a plain number of the fourth's size would be microseconds
    ts = pa.array(ns, pa.timestamp("ns", "UTC"))
    columns = {"user_id": list(range(7)), "lat": [1.0] * 7, "lon": [2.0] * 7}
    file = write_parquet(tmp_path / "a.parquet", **columns, ts=ts)
    pings = read_pings(spark, settings(file, timezone="Asia/Tokyo"))
    read = [row.us for row in pings.orderBy("user_id").select(F.unix_micros("ts").alias("us")).collect()]
    assert read == [None if number is None else number // 1000 for number in ns]


@pytest.mark.parametrize("zone", [None, "UTC"], ids=["wall clocks", "instants"])
@pytest.mark.parametrize("order", [("us", "ns"), ("ns", "us")])
def test_two_units_of_time_are_refused_by_spark_in_any_order(
    spark: SparkSession, tmp_path: Path, zone: str | None, order: tuple[str, str]
) -> None:
    for name, unit in zip("ab", order, strict=True):
        ts = pa.array([0], pa.timestamp(unit, zone))
        write_parquet(tmp_path / f"{name}.parquet", user_id=[1], lat=[1.0], lon=[2.0], ts=ts)
    assert "nanoseconds in some files and not in others" in refusal(spark, settings(tmp_path))


def test_extreme_times_do_not_overflow_later_arithmetic(spark: SparkSession, tmp_path: Path) -> None:
    least, most = -(2**63), 2**63 - 1
    whole = pa.array([least, most, None, 0], pa.int64())
    numbers = {"user_id": [1, 2, 3, 4], "lat": [1.0] * 4, "lon": [2.0] * 4}
    as_number = write_parquet(tmp_path / "a.parquet", **numbers, ts=whole)
    as_time = write_parquet(tmp_path / "b.parquet", **numbers, ts=whole.cast(pa.timestamp("us", "UTC")))
    assert [row[3] for row in rows(read_pings(spark, settings(as_time)))] == [None, None, None, 0]
    seconds = [row[3] for row in rows(read_pings(spark, settings(as_number)))]
    assert seconds[2:] == [None, 0]
    assert all(abs(value) < 3e11 for value in seconds[:2])
    as_clock = write_parquet(tmp_path / "c.parquet", **numbers, ts=whole.cast(pa.timestamp("us")))
    assert [row[3] for row in rows(read_pings(spark, settings(as_clock, timezone="Asia/Tokyo")))][:3] == [None] * 3
    texts = ["294247-01-10T04:00:54", "+294247-01-10 04:00:54", "-290308-12-21 19:59:06", "9" * 23]
    as_text = write_parquet(tmp_path / "d.parquet", **numbers, ts=pa.array(texts))
    assert [row[3] for row in rows(read_pings(spark, settings(as_text, timezone="Asia/Tokyo")))] == [None] * 4
