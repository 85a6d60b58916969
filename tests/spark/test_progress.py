"""How far Spark is: by its tasks, of which more become known as it goes on."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from pyspark.sql import SparkSession

from vdr_spark.progress import Update
from vdr_spark.spark.progress import share_done, spark_task


@pytest.mark.parametrize(
    ("stages", "expected", "share"),
    [
        ([(1, 1)], 0, 0.97),  # never full: more may come
        ([(1, 1)], 20, 0.05),  # a first small stage is not nearly everything where more is expected
        ([(1, 1), (10, 19)], 20, 0.55),
        ([(10, 10), (20, 30)], 20, 0.75),
    ],
)
def test_share(stages: list[tuple[int, int]], expected: int, share: float) -> None:
    assert share_done(stages, expected) == pytest.approx(share)


def test_it_ends_full_and_never_goes_back(spark: SparkSession) -> None:
    told: list[float] = []

    class Told:
        @contextmanager
        def task(self, _title: str, _total: float | None) -> Iterator[Update]:
            yield lambda done, _note: told.append(done)

    with spark_task(spark, Told(), "count", expected=8):
        assert spark.range(0, 1000, 1, 4).repartition(3).count() == 1000
    assert told[-1] == 1.0
    assert told == sorted(told)
