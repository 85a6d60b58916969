"""What must hold of an output folder, whenever its release was killed, and once the release is made."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import numpy as np
from delta.tables import DeltaTable
from numpy.typing import NDArray
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from tests.plans import draw_id_of, grid_of, ledger_of, noisy_files, output_of, release_id_of, release_plan_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.privacy.entries import State
from vdr_spark.progress import NullProgress
from vdr_spark.pyramid import blocks_along, factors_of
from vdr_spark.refine import choose_refinement, estimate_kept, refine_sum_errors, round_as_told
from vdr_spark.release.publish import is_published
from vdr_spark.release.read import read_release
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS, decode_counts

Tensor = NDArray[np.int64]


def tensor_of(spark: SparkSession, config: ReleaseConfig) -> Tensor | None:
    """What any reader of the table gets now: all slices, each once (T, M * M), or None where there is none."""
    table = output_of(config).table("noisy_slices")
    if not DeltaTable.isDeltaTable(spark, table):
        return None
    mine = spark.read.format("delta").load(table).where(F.col("draw_id") == draw_id_of(config))
    rows = sorted(mine.select(*SLICE_COLUMNS).collect())
    slices, whole = [row["slice"] for row in rows], list(range(grid_of(config).slices))
    assert slices in ([], whole), "a half-written tensor can be read"
    return np.array([decode_counts(row["counts"], row["bytes_per_count"]) for row in rows]) if rows else None


def check_whenever(spark: SparkSession, config: ReleaseConfig) -> Tensor | None:
    """What holds at any moment; returns the noisy tensor where there is one."""
    _forget_logs(spark)
    tensor = tensor_of(spark, config)
    states = _states(spark, config)
    assert all(count == 1 for count in states.values()), states
    assert State.REFUSED not in states
    if tensor is not None:
        assert State.RESERVED in states, "noise that nobody paid for can be read"
    if State.SPENT in states:
        assert tensor is not None
    if State.SPENT in states and is_published(spark, release_plan_of(spark, config)):
        _check_cells(spark, config)
    return tensor


def check_in_the_end(spark: SparkSession, config: ReleaseConfig, readable_before: Tensor | None) -> None:
    """One tensor, the one that could be read before; one spend; one release, which is made of that tensor."""
    tensor = check_whenever(spark, config)
    assert tensor is not None
    assert readable_before is None or np.array_equal(tensor, readable_before), "noise was drawn a second time"
    assert _states(spark, config) == {State.GRANTED: 1, State.RESERVED: 1, State.SPENT: 1}
    assert ledger_of(spark, config).account(config.dataset).committed == config.privacy.epsilon
    assert not orphans(spark, config), "another drawing lies on the disk"
    assert _appends(spark, config) == 1
    releases = spark.read.format("delta").load(output_of(config).table("releases")).collect()
    assert [row.release_id for row in releases] == [release_id_of(config)]
    _check_cells(spark, config)
    _check_made_of(tensor, spark, config)


def orphans(spark: SparkSession, config: ReleaseConfig) -> set[str]:
    """Files in the table of noisy slices that no commit refers to: other drawings of the same noise."""
    live = {unquote(file).rsplit("/", 1)[-1] for file in noisy_files(spark, config)}
    there = {file.name for file in Path(output_of(config).table("noisy_slices")).glob("draw_id=*/**/*.parquet")}
    assert live <= there
    return there - live


def _forget_logs(spark: SparkSession) -> None:
    """Look as a process would that starts now: once Delta has seen a log without a commit, it goes on saying so."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def _states(spark: SparkSession, config: ReleaseConfig) -> Counter[State]:
    return Counter(entry.state for entry in ledger_of(spark, config).entries())


def _appends(spark: SparkSession, config: ReleaseConfig) -> int:
    table = DeltaTable.forPath(spark, output_of(config).table("noisy_slices"))
    return table.history().where("operation = 'WRITE'").count()


def _check_cells(spark: SparkSession, config: ReleaseConfig) -> None:
    rows = to_arrow(spark.read.format("delta").load(output_of(config).table("cells")).select("slice", "y", "x"))
    places = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert sorted(places) == list(np.ndindex(*grid_of(config).shape)), "a cell is missing, or stands twice"
    sums = spark.read.format("delta").load(output_of(config).table("pyramid")).where("slices = 1")
    levels = sums.groupBy("factor").agg({"count": "sum", "*": "count"}).collect()
    total = read_release(config.output, release_id_of(config)).counts.sum(dtype=np.float64)
    side, slices = grid_of(config).cells_per_side, grid_of(config).slices
    for row in levels:
        assert (row["sum(count)"], row["count(1)"]) == (total, slices * blocks_along(side, row["factor"]) ** 2)
    assert {row["factor"] for row in levels} == set(factors_of(side))


def _check_made_of(tensor: Tensor, spark: SparkSession, config: ReleaseConfig) -> None:
    """The release is a function of the stored tensor: made anew from it, here, it is the same."""
    plan, grid = release_plan_of(spark, config), grid_of(config)
    noisy = tensor.reshape(grid.shape).astype(np.float32) / np.float32(config.privacy.units_per_ping)
    denoised, notes = denoise_tensor(
        noisy, plan.noise, grid.slices_per_day, config.denoise, plan.folder.root, NullProgress()
    )
    kept = estimate_kept(float(noisy.sum(dtype=np.float64)), plan.total_pings)
    refinement = choose_refinement(plan, kept, plan.total_pings, denoised)
    errors = refine_sum_errors(plan, notes, refinement.factor, kept, kept)
    expected = round_as_told(refinement.apply(denoised, errors))
    released = read_release(config.output, release_id_of(config))
    np.testing.assert_allclose(released.counts, expected.counts, rtol=1e-4, atol=1e-4)
    assert released.deviation is not None
    assert expected.deviation is not None
    np.testing.assert_allclose(released.deviation, expected.deviation, rtol=1e-4, atol=1e-4)
