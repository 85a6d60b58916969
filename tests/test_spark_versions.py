"""What stands in for calls that an older Spark lacks does as they do, and is tried here under every Spark."""

from collections.abc import Callable
from decimal import Decimal

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from vdr_spark import spark_versions
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import condition_of, delta_package, is_about_a_file, to_arrow, try_cast

Cast = Callable[[Column, str], Column]


@pytest.fixture(params=[try_cast, spark_versions._try_cast_by_sql], ids=["Spark's", "by SQL"])
def cast(request: pytest.FixtureRequest) -> Cast:
    return request.param


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_text_that_does_not_fit_is_null_whatever_the_session_says(spark: SparkSession, cast: Cast, ansi: str) -> None:
    words = [("1",), (" 2 ",), ("anna",), ("",), (None,), ("9223372036854775808",)]
    with settings_of_spark(spark, {"spark.sql.ansi.enabled": ansi}):
        texts = spark.createDataFrame(words, "text string")
        kinds = ("double", "bigint", "timestamp", "timestamp_ntz")
        rows = texts.select(*(cast(F.col("text"), kind) for kind in kinds)).collect()
    assert [tuple(row) for row in rows] == [
        (1.0, 1, None, None),
        (2.0, 2, None, None),
        *[(None,) * 4] * 3,
        (2.0**63, None, None, None),
    ]


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_numbers_that_are_too_large_are_null_and_never_wrap_around(spark: SparkSession, cast: Cast, ansi: str) -> None:
    """Cut down to 64 bits, 2**64 + 1 would be 1; and a NaN would be a moment of 1970."""
    numbers = [(1.5, Decimal(1)), (float("nan"), Decimal(2**64 + 1)), (1e30, Decimal(2**63)), (-1e30, None)]
    with settings_of_spark(spark, {"spark.sql.ansi.enabled": ansi}):
        frame = spark.createDataFrame(numbers, "a double, b decimal(30, 0)")
        rows = frame.select(cast(F.col("a"), "bigint"), cast(F.col("b"), "bigint")).collect()
    assert [tuple(row) for row in rows] == [(1, 1), (None, None), (None, None), (None, None)]


def test_frames_are_collected_in_their_order_and_types(spark: SparkSession) -> None:
    odd = F.when(F.col("id") % 2 == 1, F.col("id") + 2**53).alias("odd")  # nulls beside what no double holds
    frame = spark.range(0, 25_000, 1, 3).select(
        "id", odd, F.timestamp_micros("id").alias("ts"), F.array("id").alias("a")
    )
    expected = to_arrow(frame.orderBy(F.desc("id")))
    assert expected["id"].to_pylist() == list(range(25_000))[::-1]
    assert expected["odd"].to_pylist()[:2] == [24_999 + 2**53, None]
    assert spark_versions._collect_streams(frame.orderBy(F.desc("id"))).equals(expected)
    assert to_arrow(frame.where("id < 0")).equals(expected.slice(0, 0))


def test_a_condition_has_a_name(spark: SparkSession) -> None:
    with pytest.raises(PySparkException) as caught:
        spark.read.parquet("/nowhere/at/all")
    assert condition_of(caught.value) == "PATH_NOT_FOUND"
    assert condition_of(PySparkException("words")) is None


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("[FAILED_READ_FILE.NO_HINT] Encountered", True),
        ("org.apache.spark.SparkFileNotFoundException: File", True),
        ("java.lang.RuntimeException: file:/a.parquet is not a Parquet file. Expected", True),
        ("org.apache.spark.SparkException: Job aborted due to stage failure", False),
    ],
)
def test_a_failure_about_a_file_is_told_from_others(words: str, expected: bool) -> None:
    assert is_about_a_file(RuntimeError(words)) is expected


@pytest.mark.parametrize(
    ("spark_version", "coordinates"),
    [
        ((3, 5), "io.delta:delta-spark_2.12:VERSION"),
        ((4, 0), "io.delta:delta-spark_2.13:VERSION"),
        ((4, 2), "io.delta:delta-spark_4.2_2.13:VERSION"),
    ],
)
def test_coordinates_of_a_delta_that_does_not_say_which_it_is(
    monkeypatch: pytest.MonkeyPatch, spark_version: tuple[int, int], coordinates: str
) -> None:
    monkeypatch.setattr(spark_versions, "delta_version", lambda: "VERSION")
    monkeypatch.setattr(spark_versions, "_SPARK", spark_version)
    monkeypatch.setattr(spark_versions, "_BEFORE_SPARK_4", spark_version < (4, 0))
    assert delta_package() == coordinates


def test_coordinates_of_the_delta_that_is_installed() -> None:
    scala = "2.12" if pyspark.__version__ < "4" else "2.13"
    assert delta_package().startswith("io.delta:delta-spark_")
    assert delta_package().endswith(f"{scala}:{spark_versions.delta_version()}")
