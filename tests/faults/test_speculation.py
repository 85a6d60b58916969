"""Two attempts of one task at the same moment, each with noise of its own, on a cluster of three processes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.invariants import check_in_the_end
from tests.faults.points import A_TASK_HANGS
from tests.faults.victim import Command

# Spark speculates only where there is more than one executor: two here, of one core each.
SPECULATING = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
}


@pytest.mark.faults
def test_a_task_that_hangs_is_overtaken_by_its_copy_and_one_drawing_is_left(
    spark: SparkSession, release_of: Callable[..., Command], tmp_path: Path
) -> None:
    release = release_of(tmp_path / "out", **SPECULATING)
    done = release.finished_after(A_TASK_HANGS, tmp_path / "marks")
    assert done.returncode == 0, done.stdout + done.stderr
    check_in_the_end(spark, release.config, readable_before=None)
