"""Every point by itself: kill -9 there, look, give the same command again. Over an hour, by `make fault-test`."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults.invariants import check_in_the_end, check_whenever
from tests.faults.points import POINTS, Point
from tests.faults.victim import Command


@pytest.mark.faults
@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_killed_there_and_started_again(
    point: Point, spark: SparkSession, release_of: Callable[..., Command], tmp_path: Path
) -> None:
    release = release_of(tmp_path / "out")
    release.killed_at(point, tmp_path / "marks")
    readable = check_whenever(spark, release.config)
    again = release.finished()
    assert again.returncode == 0, again.stdout + again.stderr
    check_in_the_end(spark, release.config, readable)


def test_there_are_enough_points_and_each_has_a_name() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS) >= 50
