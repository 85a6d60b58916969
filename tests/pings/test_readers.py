"""Each format written by hand, read back as canonical pings; and everything that must be refused in words."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import read_pings

NOON = datetime(2020, 1, 7, 12, tzinfo=UTC)
NOON_S = 1_578_398_400
SECRET = "s3cret-person"


@pytest.fixture(params=["UTC", "America/New_York"])
def any_zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session, in a zone that must not matter."""
    kept = spark.conf.get("spark.sql.session.timeZone")
    assert kept is not None
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", kept)


def settings(path: Path, **rest: Any) -> InputSettings:
    return InputSettings.model_validate({"path": str(path), **rest})


def rows(pings: DataFrame) -> list[tuple[Any, ...]]:
    """Rows with the instant in seconds, which no time zone of Python or Spark can touch."""
    assert pings.columns == ["user_id", "lat", "lon", "ts"]
    kinds = dict(pings.dtypes)
    assert kinds["user_id"] in {"string", "int", "bigint"}
    assert (kinds["lat"], kinds["lon"], kinds["ts"]) == ("double", "double", "timestamp")
    seconds = (F.unix_micros("ts") / 1_000_000).alias("ts")
    return sorted(
        (tuple(row) for row in pings.select("user_id", "lat", "lon", seconds).collect()), key=lambda r: str(r)
    )


def write_parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


def refusal(spark: SparkSession, given: InputSettings) -> str:
    with pytest.raises(InvalidInput) as caught:
        read_pings(spark, given)
    # What a traceback would print: our words, and no cause that brings Spark's.
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def test_vdr_parquet_as_it_is(any_zone: SparkSession, tmp_path: Path) -> None:
    ts = pa.array([NOON], pa.timestamp("us", "UTC"))
    file = write_parquet(tmp_path / "a.parquet", user_id=[5], lat=[29.5], lon=[-95.5], ts=ts, other=["x"])
    assert rows(read_pings(any_zone, settings(file))) == [(5, 29.5, -95.5, NOON_S)]


@pytest.mark.parametrize("value", [NOON_S, NOON_S * 1000, NOON_S * 1_000_000, NOON_S * 1_000_000_000, float(NOON_S)])
def test_veraset_epochs_in_every_unit(spark: SparkSession, tmp_path: Path, value: float) -> None:
    file = write_parquet(tmp_path / "a.parquet", caid=["u"], latitude=[29.5], longitude=[-95.5], utc_timestamp=[value])
    assert rows(read_pings(spark, settings(file, layout="veraset"))) == [("u", 29.5, -95.5, NOON_S)]


def test_veraset_timestamps_and_names_in_other_case(spark: SparkSession, tmp_path: Path) -> None:
    ts = pa.array([NOON], pa.timestamp("ms", "UTC"))
    file = write_parquet(tmp_path / "a.parquet", CAID=["u"], Latitude=["29.5"], longitude=[-95], utc_timestamp=ts)
    assert rows(read_pings(spark, settings(file, layout="veraset"))) == [("u", 29.5, -95.0, NOON_S)]


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
    frame = pd.DataFrame({"user_id": range(4), "lat": 1.0, "lon": 2.0, "ts": pd.to_datetime(wall, format="ISO8601")})
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


PINGS = "select id user_id, 1D lat, '2' lon, timestamp_ntz'2020-01-07 12:00:00' ts from range(2)"


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


def test_a_dataframe_with_two_columns_of_one_name_is_refused(spark: SparkSession) -> None:
    """And no name is repeated: a frame may have been read from text without a header, by its first row."""
    frame = spark.sql(f"select *, 1 {SECRET.replace('-', '_')}, 3 lat from ({PINGS})")
    with pytest.raises(InvalidInput, match="more than one, called `lat` for `lat` in DataFrame trips") as caught:
        read_pings(spark, InputSettings(dataframe="trips"), frame)
    assert SECRET.replace("-", "_") not in str(caught.value)


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


def test_csv_with_columns_of_ones_own(any_zone: SparkSession, tmp_path: Path) -> None:
    for name, user in [("a.csv", "u"), ("b.csv", "v")]:
        lines = ["when;who;y pos;x.pos", f"2020-01-07 06:00:00;{user};29.5;-95.5"]
        (tmp_path / name).write_text("\n".join([*lines, f"2020-01-07T12:00:00+00:00;{user};1;2", ""]))
    columns = {"user_id": "who", "lat": "y pos", "lon": "x.pos", "ts": "when"}
    given = settings(tmp_path, format="csv", separator=";", columns=columns, timezone="America/Chicago")
    assert rows(read_pings(any_zone, given)) == [
        ("u", 1.0, 2.0, NOON_S),
        ("u", 29.5, -95.5, NOON_S),
        ("v", 1.0, 2.0, NOON_S),
        ("v", 29.5, -95.5, NOON_S),
    ]


def test_csv_without_header(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{NOON_S},u,29.5,-95.5,more\n")
    columns = {"user_id": "_c1", "lat": "_c2", "lon": "_c3", "ts": "_c0"}
    given = settings(tmp_path, format="csv", header=False, columns=columns)
    assert rows(read_pings(spark, given)) == [("u", 29.5, -95.5, NOON_S)]
    (tmp_path / "a.csv").write_text(f"u,29.5,-95.5,{NOON_S}\n")
    assert rows(read_pings(spark, settings(tmp_path, format="csv", header=False))) == [("u", 29.5, -95.5, NOON_S)]
    said = refusal(spark, settings(tmp_path, format="csv", header=False, columns={"ts": "_c3"}))
    assert "_c0" in said


def test_delta_and_a_delta_table_taken_for_parquet(spark: SparkSession, tmp_path: Path) -> None:
    table = str(tmp_path / "t")
    two = spark.sql("select id user_id, 1D lat, 2D lon, timestamp_seconds(1578398400) ts from range(2)")
    two.write.format("delta").save(table)
    two.where("user_id = 1").write.format("delta").mode("overwrite").save(table)
    assert rows(read_pings(spark, settings(tmp_path / "t", format="delta"))) == [(1, 1.0, 2.0, NOON_S)]
    # Read as Parquet the folder would bring the deleted user back.
    assert "format: delta" in refusal(spark, settings(tmp_path / "t"))


def test_garbage_becomes_null_and_nobodys_pings_go(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "g.txt").write_text(
        "1\tnonsense\tNaN\tx\tp\n2\n\t2010-10-12T00:21:28Z\t1\t2\tp\n3\t99999999999999999999\t1e400\t\tp\n4\t12:30\t1\t2\n"
    )
    found = rows(read_pings(spark, settings(tmp_path, layout="gowalla")))
    assert [row[0] for row in found] == ["1", "2", "3", "4"]
    assert all(row[3] is None for row in found)
    assert all(row[2] is None for row in found[:3])


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


def test_files_of_another_format_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_text(f"{SECRET},1,2,3\n")
    said = refusal(spark, settings(tmp_path / "a.parquet"))
    assert "cannot be opened as parquet" in said
    assert SECRET not in said


def test_a_row_taken_for_a_header_is_not_repeated(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(f"{SECRET},29.7604,-95.3698,2020-01-07 06:00:00\n" * 2)
    said = refusal(spark, settings(tmp_path, format="csv"))
    assert "header: false" in said
    assert SECRET not in said
    assert "29.7" not in said


@pytest.mark.parametrize("first", [f"{SECRET} 29.7612 95.3711 2020-01-07 13:00:05", f"{SECRET},Main Street,x,y"])
def test_a_first_line_that_might_be_a_person_is_never_repeated(spark: SparkSession, tmp_path: Path, first: str) -> None:
    (tmp_path / "a.csv").write_text(first + "\n")
    said = refusal(spark, settings(tmp_path, format="csv"))
    assert "none of that name" in said
    for part in (SECRET, "29.7612", "Main Street"):
        assert part not in said
