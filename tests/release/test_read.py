"""A release read back is the release that was made, wherever it is read."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from vdr_spark.config import load_config
from vdr_spark.release.read import read_release


@pytest.fixture
def _in_chicago(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "America/Chicago")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("_in_chicago")
def test_slices_begin_when_they_began_whatever_the_machines_clock_shows(
    in_demo_folder: Path, spark: SparkSession
) -> None:
    assert read_release(str(in_demo_folder / "out/demo")).grid == load_config("conf/demo.yaml").domain
