"""Pings that all victims share, and the command that is killed."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.conftest import QUICK, ROOT, small_overrides
from tests.faults.victim import Command
from tests.plans import run_stage
from vdr_spark.config import load_config

AS_ON_A_CLUSTER = {"spark.master": "local[2,4]"}  # a task that fails is tried again


@pytest.fixture(scope="session")
def pings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("generated")
    config = load_config(ROOT / "conf/demo.yaml", small_overrides(folder))
    run_stage("synth", spark, config)
    return config.input.path


@pytest.fixture
def release_of(pings: str, delta_jars: str) -> Callable[..., Command]:
    """`vdr release` of the shared pings into an output folder, with Spark settings of a test's own."""
    return lambda output, **conf: Command.of(pings, output, QUICK | AS_ON_A_CLUSTER | conf, delta_jars)
