"""One release, killed on its way and taken up again, with a task that is tried twice: once, and then often."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tests.faults.invariants import check_in_the_end, check_whenever, orphans
from tests.faults.points import A_TASK_FAILS, AFTER_THE_DRAW, BEFORE_THE_DRAW, COMMITTED
from tests.faults.victim import Command


@pytest.mark.faults
def test_a_release_that_is_killed_while_it_draws_noise_draws_and_pays_once(
    spark: SparkSession, release_of: Callable[..., Command], tmp_path: Path
) -> None:
    """Kill it when half of the slices have noise; then let a task draw noise and fail, so that another one commits."""
    release = release_of(tmp_path / "out")
    release.killed_at(BEFORE_THE_DRAW[0], tmp_path / "half")
    assert check_whenever(spark, release.config) is None
    again = release.finished_after(A_TASK_FAILS, tmp_path / "marks")
    assert again.returncode == 0, again.stdout + again.stderr
    check_in_the_end(spark, release.config, None)
    # A person sees our lines, not Ivy's and log4j's. (The command for pictures names Delta's jars, log4j's among them.)
    assert "publish: write Delta tables" in again.stderr
    for noise in (":: loading settings", "log4j profile", "log4j:", "FutureWarning", "Stage 0:"):
        assert noise not in again.stdout + again.stderr


@pytest.mark.faults
@pytest.mark.timeout(1200)  # a chain of processes
def test_a_release_that_is_killed_again_and_again_draws_and_pays_once(
    spark: SparkSession, release_of: Callable[..., Command], tmp_path: Path
) -> None:
    release = release_of(tmp_path / "out")
    tensor = None
    for number, point in enumerate(BEFORE_THE_DRAW):
        release.killed_at(point, tmp_path / f"before{number}")
        tensor = check_whenever(spark, release.config)
    if tensor is None:  # on a busy machine, the last of these kills, from outside, may have come after the commit
        # The first attempt of a task has drawn noise, and fails; the second one draws other noise, and is committed.
        release.killed_at(COMMITTED, tmp_path / "committed", after=(A_TASK_FAILS,))
        tensor = check_whenever(spark, release.config)
    assert tensor is not None
    for number, point in enumerate(AFTER_THE_DRAW):
        release.killed_at(point, tmp_path / f"after{number}")
        found = check_whenever(spark, release.config)
        assert found is not None
        assert np.array_equal(found, tensor), point.name
        assert not orphans(spark, release.config), point.name
    again = release.finished()
    assert again.returncode == 0, again.stdout + again.stderr
    check_in_the_end(spark, release.config, tensor)
    assert " WARN " not in again.stdout + again.stderr
