"""What tests of readers share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession


@pytest.fixture(params=["UTC", "America/New_York"])
def any_zone(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[SparkSession]:
    """The session, in a zone that must not matter."""
    kept = spark.conf.get("spark.sql.session.timeZone")
    assert kept is not None
    spark.conf.set("spark.sql.session.timeZone", request.param)
    yield spark
    spark.conf.set("spark.sql.session.timeZone", kept)
