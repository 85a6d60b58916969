"""Pings that all victims share, and the command that is killed."""

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT, small_overrides
from tests.faults.victim import Command
from tests.plans import run_stage
from vdr_spark.config import load_config

# A victim lives for seconds: what Spark compiles for it would never pay.
QUICK = {
    "spark.master": "local[2,4]",  # as on a cluster, a task that fails is tried again
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
}


@pytest.fixture(scope="session")
def pings(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("generated")
    config = load_config(ROOT / "conf/demo.yaml", small_overrides(folder))
    run_stage("synth", spark, config)
    return config.input.path


@pytest.fixture
def release_of(pings: str) -> Callable[..., Command]:
    """`vdr release` of the shared pings into an output folder, with Spark settings of a test's own."""
    return lambda output, **conf: Command.of(pings, output, QUICK | conf)
