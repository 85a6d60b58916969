"""The counts of a run do not depend on how Spark happens to run it.

Spark may compute a task again after a part of its output was read: an executor is lost, a fetch fails, a slow task is
run twice. If the second run kept other pings of a user than the first, the slices that were read before would hold k
pings of one choice and the slices read after it k of another, and the user would be in the release with up to 2k
pings: more than the noise is made for, and nothing in the output would show it. So what is kept must be a function of
the run's key and the user's own pings. The tests below make Spark do it: rows in other orders, plans evaluated twice
and read by halves, tasks that fail, and shuffle files that vanish while they are being read. The textbook's plan, a
row number over `rand()`, is put through the same, and is seen to break the bound.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import reduce
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.compute as pc
import pytest
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from vdr_spark.collect.bounding import Bounding, Norm, Sample, SampleKey, Weight
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.collect.source import SparkSource, open_source
from vdr_spark.config.settings import InputSettings
from vdr_spark.grid import Box, Grid
from vdr_spark.spark_versions import to_arrow
from vdr_spark.units import WEIGHT_UNIT

SIDE, SLICES, K = 4, 6, 8
GRID = Grid(Box(0, 0, 1, 1), SIDE, datetime(2020, 1, 1, tzinfo=UTC), 3600, SLICES)
KEY = SampleKey.seeded(11)
BOUNDINGS = [Sample(K, 7, KEY), Weight(K, 7), Norm(K, 7)]
PINGS_OF_USER = [1, K - 1, K, K + 1, 40, 300]


def pings_of_users(text: bool) -> pd.DataFrame:
    """User u lives in cell u and pings through all slices, so the counts of a cell are the counts of its user."""
    users = np.repeat(np.arange(len(PINGS_OF_USER)), PINGS_OF_USER)
    seconds = np.random.default_rng(3).integers(0, 3600 * SLICES, len(users))
    seconds[::5] = 600  # exact duplicates among them
    y, x = np.divmod(users, SIDE)
    return pd.DataFrame(
        {
            "user_id": [f"user {user}" for user in users] if text else users,
            "lat": GRID.latitudes()[y],
            "lon": GRID.longitudes()[x],
            "ts": pd.Timestamp(GRID.start) + pd.to_timedelta(seconds, unit="s"),
        }
    )


def write_in_files(pings: pd.DataFrame, folder: Path, files: int) -> InputSettings:
    folder.mkdir()
    for number in range(files):
        pings.iloc[number::files].to_parquet(folder / f"part-{number}.parquet", coerce_timestamps="us")
    return InputSettings(path=str(folder))


def tensors_of(*packed: DataFrame) -> list[NDArray[np.int64]]:
    """The counts of each plan, all evaluated in one job: starting one takes longer than counting. (T, M*M) each"""
    labelled = [plan.withColumn("plan", F.lit(number)) for number, plan in enumerate(packed)]
    rows = to_arrow(reduce(DataFrame.unionByName, labelled))
    tensors = [np.zeros((SLICES, SIDE**2), dtype=np.int64) for _ in packed]
    for number, tensor in enumerate(tensors):
        for layer, counts in sum_packed(rows.filter(pc.equal(rows["plan"], number)).to_batches(), SIDE**2).items():
            tensor[layer] = counts
    return tensors


def by_user(tensor: NDArray[np.int64]) -> list[int]:
    return tensor.sum(axis=0)[: len(PINGS_OF_USER)].tolist()


@pytest.mark.parametrize("bounding", BOUNDINGS, ids=["sample", "weight", "l2"])
@pytest.mark.parametrize("text", [False, True], ids=["bigint", "string"])
def test_counts_do_not_depend_on_how_the_work_is_cut(
    spark: SparkSession, tmp_path: Path, bounding: Bounding, text: bool
) -> None:
    pings = pings_of_users(text)
    plans = []
    for files, partitions, reader in ((1, 1, "direct"), (3, 5, "direct"), (2, 2, "spark")):
        shuffled = pings.sample(frac=1, random_state=files)
        settings = write_in_files(shuffled, tmp_path / str(files), files).model_copy(update={"reader": reader})
        source = open_source(spark, settings, [GRID])
        plans.append(count_bounded(source, [GRID], bounding, KEY, partitions))
    tensors = tensors_of(*plans)
    assert all((tensor == tensors[0]).all() for tensor in tensors)
    if isinstance(bounding, Sample):
        assert by_user(tensors[0]) == [min(K, n) for n in PINGS_OF_USER]
    elif isinstance(bounding, Norm):
        for units in tensors[0].T[: len(PINGS_OF_USER)].tolist():  # of one user, slice by slice
            assert sum(of_slice**2 for of_slice in units) <= (K * WEIGHT_UNIT) ** 2
        assert by_user(tensors[0])[:3] == [n * WEIGHT_UNIT for n in PINGS_OF_USER[:3]]
        assert sum(units**2 for units in tensors[0].T[5].tolist()) > (K * WEIGHT_UNIT - 300) ** 2
    else:
        for n, units in zip(PINGS_OF_USER, by_user(tensors[0]), strict=True):
            assert min(K, n) * WEIGHT_UNIT - n < units <= min(K, n) * WEIGHT_UNIT


def test_a_user_is_bounded_over_all_grids_together(spark: SparkSession, tmp_path: Path) -> None:
    there = Grid(Box(5, 5, 6, 6), SIDE, GRID.start, 3600, SLICES)
    here = pings_of_users(text=False)
    settings = write_in_files(pd.concat([here, here.assign(lat=here.lat + 5, lon=here.lon + 5)]), tmp_path / "in", 2)
    grids = [GRID, there]
    packed = count_bounded(open_source(spark, settings, grids), grids, Sample(K, 8, KEY), KEY, 3)
    layers = sum_packed(to_arrow(packed).to_batches(), SIDE**2)
    counts = sum(layers.values())[: len(PINGS_OF_USER)]
    assert counts.tolist() == [min(K, 2 * n) for n in PINGS_OF_USER]
    assert {layer >= SLICES for layer in layers} == {False, True}


def test_a_norm_is_bounded_over_all_grids_together(spark: SparkSession, tmp_path: Path) -> None:
    there = Grid(Box(5, 5, 6, 6), SIDE, GRID.start, 3600, SLICES)
    here = pings_of_users(text=False)
    settings = write_in_files(pd.concat([here, here.assign(lat=here.lat + 5, lon=here.lon + 5)]), tmp_path / "in", 2)
    grids = [GRID, there]
    packed = count_bounded(open_source(spark, settings, grids), grids, Norm(K, 8), KEY, 3)
    layers = sum_packed(to_arrow(packed).to_batches(), SIDE**2)
    squares = [sum(int(counts[user]) ** 2 for counts in layers.values()) for user in range(len(PINGS_OF_USER))]
    assert all(square <= (K * WEIGHT_UNIT) ** 2 for square in squares)
    assert squares[-1] > (K * WEIGHT_UNIT - 600) ** 2  # and each region alone has half of it
    alone = sum(int(counts[5]) ** 2 for layer, counts in layers.items() if layer < SLICES)
    assert abs(2 * alone / squares[-1] - 1) < 1e-9


def half(packed: DataFrame, odd: bool) -> DataFrame:
    """The slices that were read before the loss, or those read after it."""
    return packed.where(F.col("layer") % 2 == int(odd))


def first_and_second_run(spark: SparkSession, rows: pd.DataFrame) -> Sequence[DataFrame]:
    """The same pings as a task sees them when it is run, and when it is run again and its inputs arrive otherwise."""
    pings = spark.createDataFrame(rows).coalesce(1)
    return pings, pings.orderBy(F.desc("ts"))


def test_slices_of_two_evaluations_together_hold_one_choice(spark: SparkSession) -> None:
    first, second = (
        count_bounded(SparkSource(pings, [GRID]), [GRID], BOUNDINGS[0], KEY, 3)
        for pings in first_and_second_run(spark, pings_of_users(text=False))
    )
    even, odd, whole = tensors_of(half(first, odd=False), half(second, odd=True), first)
    assert by_user(even + odd) == [min(K, n) for n in PINGS_OF_USER]
    assert (even + odd == whole).all()
    assert even.any()
    assert odd.any()


def kept_at_random(pings: DataFrame) -> DataFrame:
    """The textbook's way: k rows of each user by a random number. Even its seed is given, and the same each time."""
    order = Window.partitionBy("user_id").orderBy("priority")
    slice_number = F.floor((F.unix_seconds("ts") - int(GRID.start.timestamp())) / GRID.slice_seconds)
    numbered = pings.withColumn("priority", F.rand(5)).withColumn("place", F.row_number().over(order))
    return numbered.where(F.col("place") <= K).select("user_id", slice_number.alias("layer"))


def test_slices_of_two_evaluations_break_the_bound_if_the_choice_is_random(spark: SparkSession) -> None:
    """Forty users of 300 pings: the chance that none of them gets more than k out of two choices is below 1e-6."""
    busy = pings_of_users(text=False).query("user_id == 5")
    many = pd.concat([busy.assign(user_id=user) for user in range(40)])
    first, second = (kept_at_random(pings) for pings in first_and_second_run(spark, many))
    mixed = half(first, odd=False).union(half(second, odd=True))
    most = [
        kept.groupBy("user_id").count().agg(F.max("count").alias("most")).collect()[0].most for kept in (first, mixed)
    ]
    assert most[0] == K  # one evaluation alone is right
    assert most[1] > K


# Run in a process of its own: a session that may try a task again has to be started as such.
UNLUCKY = """
import glob, json, os, sys
from pyspark import TaskContext
from pyspark.sql import SparkSession
from tests.collect.test_counting import BOUNDINGS, GRID, KEY, tensors_of
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.source import SparkSource
from vdr_spark.spark_versions import to_arrow

folder = sys.argv[1]
conf = {
    "spark.local.dir": folder + "/local",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "50",
    "spark.sql.session.timeZone": "UTC",
    "spark.stage.maxConsecutiveAttempts": "30",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
spark = SparkSession.builder.master("local[1,3]").config(map=conf).getOrCreate()


def first_time(name):
    try:
        open(f"{folder}/{name}", "x").close()
    except FileExistsError:
        return False
    return True


class Unlucky(SparkSource):
    def map(self, task, schema):
        misfortune = self.misfortune

        def unlucky(batches):
            context = TaskContext.get()
            # A task that is run again need not see its rows in the same order.
            batches = list(batches)
            if not first_time(f"{misfortune} map {context.partitionId()}"):
                batches.reverse()
            with open(f"{folder}/{misfortune} log", "a") as log:
                log.write("map ")
            for made in task(batches):
                yield made
                if misfortune == "task fails" and context.attemptNumber() == 0:
                    raise OSError("no luck")
        return super().map(unlucky, schema)


def count(misfortune):
    def read_then_lose(batches):
        # The first task has read its layers. Then all that was shuffled is gone, for the others to find out.
        rows = list(batches)
        if not rows:
            return
        yield from rows
        with open(f"{folder}/{misfortune} log", "a") as log:
            log.write("read ")
        if misfortune == "files vanish" and first_time("vanished"):
            for file in glob.glob(folder + "/local/**/shuffle_*", recursive=True):
                os.remove(file)

    source = Unlucky(spark.read.parquet(folder + "/pings"), [GRID])
    object.__setattr__(source, "misfortune", misfortune)
    packed = count_bounded(source, [GRID], BOUNDINGS[0], KEY, 2)
    return tensors_of(packed.repartition(3, "layer").mapInArrow(read_then_lose, packed.schema))[0].tolist()


print(json.dumps({misfortune: count(misfortune) for misfortune in ("none", "task fails", "files vanish")}))
"""


@pytest.mark.spark
def test_tasks_that_are_run_again_keep_the_same_pings(tmp_path: Path) -> None:
    """Really run again, as the logs show, and some of the layers were read before. The counts are the same."""
    write_in_files(pings_of_users(text=True), tmp_path / "pings", 1)
    path = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2]), "PYSPARK_PYTHON": sys.executable}
    run = subprocess.run(
        [sys.executable, "-c", UNLUCKY, str(tmp_path)], capture_output=True, text=True, check=False, env=path
    )
    assert run.returncode == 0, run.stderr[-3000:]
    counts = {name: np.array(tensor) for name, tensor in json.loads(run.stdout.splitlines()[-1]).items()}
    logs = {name: (tmp_path / f"{name} log").read_text().split() for name in counts}
    first, *later = logs["none"][1:]  # tasks that read layers
    assert logs["none"] == ["map", first, *later]
    assert logs["task fails"] == ["map", "map", first, *later]
    assert logs["files vanish"] == ["map", first, "map", *later]
    assert len(later) > 0
    assert by_user(counts["none"]) == [min(K, n) for n in PINGS_OF_USER]
    assert (counts["task fails"] == counts["none"]).all()
    assert (counts["files vanish"] == counts["none"]).all()
