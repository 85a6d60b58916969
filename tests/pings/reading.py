"""Pings written by hand, read, and compared; and refusals that must quote nobody."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import WHILE_READING, read_pings
from vdr_spark.spark.settings import settings_of_spark

NOON = datetime(2020, 1, 7, 12, tzinfo=UTC)

NOON_S = 1_578_398_400

SECRET = "s3cret-person"

PINGS = "select id user_id, 1D lat, '2' lon, timestamp_ntz'2020-01-07 12:00:00' ts from range(2)"


def settings(path: Path, **rest: Any) -> InputSettings:
    return InputSettings.model_validate({"path": str(path), **rest})


def rows(pings: DataFrame) -> list[tuple[Any, ...]]:
    """Rows with the instant in seconds, which no time zone of Python or Spark can touch."""
    assert pings.columns == ["user_id", "lat", "lon", "ts"]
    kinds = dict(pings.dtypes)
    assert kinds["user_id"] in {"string", "int", "bigint"}
    assert (kinds["lat"], kinds["lon"], kinds["ts"]) == ("double", "double", "timestamp")
    seconds = (F.unix_micros("ts") / 1_000_000).alias("ts")
    with settings_of_spark(pings.sparkSession, WHILE_READING):
        read = pings.select("user_id", "lat", "lon", seconds).collect()
    return sorted((tuple(row) for row in read), key=lambda r: str(r))


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
