"""What `benchmarks/collect.py` measures: ours, and what anybody would do in Spark, over the same pings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import pyarrow as pa
from peers import Measured, timed
from pings import say
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from vdr_spark.collect.bounding import SampleKey, build_bounding
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.source import open_source
from vdr_spark.config import ReleaseConfig
from vdr_spark.cost import PINGS_PER_TASK, tasks_for
from vdr_spark.pings.readers import read_pings
from vdr_spark.plan import make_plan
from vdr_spark.spark.grid_columns import cell_column
from vdr_spark.spark.settings import settings_of_spark

Total = Callable[[DataFrame], int]
"""Adds up what a plan kept."""


def bare_scan(spark: SparkSession, config: ReleaseConfig) -> DataFrame:
    """The cell of every ping inside: what anybody who counts pings by cell has to do."""
    cell = cell_column(make_plan(config).grids[0], F.col("lat"), F.col("lon"), F.col("ts"))
    return read_pings(spark, config.input).select("user_id", cell.alias("cell")).where(F.col("cell").isNotNull())


def textbook(spark: SparkSession, config: ReleaseConfig) -> DataFrame:
    """k pings of each user by a window, then counts by cell."""
    numbered = F.row_number().over(Window.partitionBy("user_id").orderBy(F.rand()))
    kept = bare_scan(spark, config).withColumn("n", numbered).where(F.col("n") <= F.lit(config.privacy.k))
    return kept.groupBy("cell").count()


def ours(spark: SparkSession, config: ReleaseConfig) -> DataFrame:
    """What the collect stage does before it adds noise."""
    plan, key, total = make_plan(config), SampleKey.generate(), config.privacy.total_pings or 0
    bounding = build_bounding(config.privacy.bounding, plan.bound(total), plan.cells, key)
    partitions = tasks_for(total, PINGS_PER_TASK, int(spark.conf.get("spark.sql.shuffle.partitions") or 200))
    return count_bounded(open_source(spark, config.input, plan.grids), plan.grids, bounding, key, partitions)


def sum_of_counts(counts: DataFrame) -> int:
    return int(counts.agg(F.sum("count")).first()[0] or 0)  # type: ignore[index]


def sum_of_packed(packed: DataFrame) -> int:
    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            total = sum(int(np.frombuffer(row, "<i8").sum()) for row in batch.column("counts").to_pylist())
            yield pa.RecordBatch.from_arrays([pa.array([total])], names=["count"])

    return sum_of_counts(packed.mapInArrow(add, "count bigint"))


def measure(name: str, plan: Callable[[], DataFrame], total: Total | None, repeats: int) -> Measured:
    """Seconds from the making of a plan to its end, after a warm-up; and what it keeps, by a run beside the clock."""
    say(f"{name} ...")

    def run() -> None:
        plan().write.format("noop").mode("overwrite").save()

    run()
    return Measured(timed(run, repeats), None if total is None else total(plan()))


def measure_ours(spark: SparkSession, name: str, config: ReleaseConfig, total: Total | None, repeats: int) -> Measured:
    with settings_of_spark(spark, open_source(spark, config.input, make_plan(config).grids).arrow_settings):
        return measure(name, partial(ours, spark, config), total, repeats)
