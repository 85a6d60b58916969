"""A check leaves nothing behind: no file, no log line, no entry in the ledger."""

import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import write_pings
from tests.plans import grid_of
from vdr_spark import Publisher, ReleaseConfig

Small = Callable[..., ReleaseConfig]
PINGS = 1237


@pytest.fixture
def city(small_config: Small) -> ReleaseConfig:
    config = small_config(f"privacy.total_pings={PINGS}")
    cells = grid_of(config).size
    users = [(number % 61, number % cells) for number in range(PINGS)]
    write_pings(config.input.path or "", grid_of(config), users)
    return config


def test_nothing_is_written_or_logged(
    spark: SparkSession, city: ReleaseConfig, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = sorted(tmp_path.rglob("*"))
    with caplog.at_level(logging.DEBUG):
        report = Publisher(city, spark).check()
    assert report.fine, str(report)
    assert (report.measured.pings, report.measured.per_user.total_users) == (PINGS, 61)
    assert sorted(tmp_path.rglob("*")) == before
    logged = [record.getMessage() for record in caplog.records if record.name.startswith("vdr_spark")]
    assert not [line for line in logged if str(PINGS) in line.replace(",", "")]


def test_pings_in_a_dataframe(spark: SparkSession, city: ReleaseConfig) -> None:
    settings = city.model_dump(by_alias=True, exclude={"input", "synth"})
    frame = spark.read.parquet(city.input.path or "").selectExpr("user_id", "lon AS lat", "lat AS lon", "ts")
    report = Publisher.from_dataframe(frame, "swapped-pings", **settings).check()
    assert [hint.name for hint in report.hints] == ["swapped"]
    mended = Publisher.from_dataframe(frame, "swapped-pings", {"lat": "lon", "lon": "lat"}, **settings).check()
    assert mended.fine
