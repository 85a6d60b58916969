"""One Spark session for the whole test run: starting it costs more than most tests."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = spark_session(SparkSettings(driver_memory="3g", conf={"spark.sql.shuffle.partitions": "4"}))
    yield session
    session.stop()
