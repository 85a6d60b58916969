"""Each known layout, written by hand as its own documentation shows it, is read back as canonical pings."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.pings.reading import NOON, NOON_S, rows, settings, write_parquet
from vdr_spark.pings.readers import read_pings
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import ROW_BY_ROW


def test_vdr_parquet_as_it_is(any_zone: SparkSession, tmp_path: Path) -> None:
    ts = pa.array([NOON], pa.timestamp("us", "UTC"))
    file = write_parquet(tmp_path / "a.parquet", user_id=[5], lat=[29.5], lon=[-95.5], ts=ts, other=["x"])
    assert rows(read_pings(any_zone, settings(file))) == [(5, 29.5, -95.5, NOON_S)]


def test_veraset_timestamps_and_names_in_other_case(spark: SparkSession, tmp_path: Path) -> None:
    ts = pa.array([NOON], pa.timestamp("ms", "UTC"))
    file = write_parquet(tmp_path / "a.parquet", CAID=["u"], Latitude=["29.5"], longitude=[-95], utc_timestamp=ts)
    assert rows(read_pings(spark, settings(file, layout="veraset"))) == [("u", 29.5, -95.0, NOON_S)]


def test_gowalla_gzipped(any_zone: SparkSession, tmp_path: Path) -> None:
    lines = "0\t2010-10-12T00:21:28Z\t40.64\t-73.78\t23261\n7\t2010-10-11T20:21:20Z\t40.75\t-73.99\t16907\n"
    (tmp_path / "g.txt.gz").write_bytes(gzip.compress(lines.encode()))
    first = datetime(2010, 10, 12, 0, 21, 28, tzinfo=UTC).timestamp()
    second = datetime(2010, 10, 11, 20, 21, 20, tzinfo=UTC).timestamp()
    # The zone in the settings is for times that carry none.
    given = settings(tmp_path / "g.txt.gz", layout="gowalla", timezone="Asia/Tokyo")
    assert rows(read_pings(any_zone, given)) == [("0", 40.64, -73.78, first), ("7", 40.75, -73.99, second)]


def test_foursquare(any_zone: SparkSession, tmp_path: Path) -> None:
    line = '470\t49bb\t4bf5\tCaf\xe9 "Arts\t40.72\t-74.0\t-240\tTue Apr 03 18:00:06 +0000 2012\n'
    (tmp_path / "nyc.txt").write_bytes(line.encode("latin-1"))
    seconds = datetime(2012, 4, 3, 18, 0, 6, tzinfo=UTC).timestamp()
    assert rows(read_pings(any_zone, settings(tmp_path, layout="foursquare"))) == [("470", 40.72, -74.0, seconds)]


def test_a_time_that_spark_2_read_otherwise_stops_nobody(spark: SparkSession, tmp_path: Path) -> None:
    """As Spark 3.5 is set, the job ends at a day of one digit, which Spark 2 read and it does not."""
    line = "{}\t49bb\t4bf5\tCafe\t40.72\t-74.0\t-240\tTue Apr {} 18:00:06 +0000 2012\n"
    (tmp_path / "nyc.txt").write_text(line.format(1, "03") + line.format(2, "3"))
    with settings_of_spark(spark, dict.fromkeys(ROW_BY_ROW, "EXCEPTION")):
        pings = read_pings(spark, settings(tmp_path, layout="foursquare"))
        assert [row[0:4:3] for row in rows(pings)] == [("1", 1333476006.0), ("2", None)]
        with pytest.raises(Exception, match="INCONSISTENT_BEHAVIOR_CROSS_VERSION"):
            pings.collect()


def test_cabspotting_user_is_the_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "new_abboip.txt").write_text("37.75 -122.39 0 1213084687\n")
    (tmp_path / "new_enyenewl.txt").write_text("37.76 -122.40 1 1213084659\n")
    (tmp_path / "README").write_text("37.0 -122.0 1 1213084659\n")
    found = rows(read_pings(spark, settings(tmp_path, layout="cabspotting")))
    assert found == [("abboip", 37.75, -122.39, 1213084687), ("enyenewl", 37.76, -122.4, 1213084659)]


def test_tdrive_is_beijings_wall_clock(any_zone: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "1.txt").write_text("1,2008-02-02 15:36:08,116.51172,39.92123\n")
    seconds = datetime(2008, 2, 2, 7, 36, 8, tzinfo=UTC).timestamp()
    assert rows(read_pings(any_zone, settings(tmp_path, layout="tdrive"))) == [("1", 39.92123, 116.51172, seconds)]
    in_utc = settings(tmp_path, layout="tdrive", timezone="UTC")
    assert rows(read_pings(any_zone, in_utc))[0][3] == seconds + 8 * 3600


def test_garbage_becomes_null_and_nobodys_pings_go(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(
        "1\tnonsense\tNaN\tx\tp\n2\n\t2010-10-12T00:21:28Z\t1\t2\tp\n3\t99999999999999999999\t1e400\t\tp\n4\t12:30\t1\t2\n"
    )
    found = rows(read_pings(spark, settings(tmp_path, layout="gowalla")))
    assert [row[0] for row in found] == ["1", "2", "3", "4"]
    assert all(row[3] is None for row in found)
    assert all(row[2] is None for row in found[:3])
