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

from vdr_spark.collect.noisy_slices import live_files
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.privacy.accounting import State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.progress import Silent
from vdr_spark.refine import pings_of_region, refinement_of
from vdr_spark.release.publish import is_published
from vdr_spark.release.read import read_release
from vdr_spark.storage.workspace import Workspace

Tensor = NDArray[np.int64]


def tensor_of(spark: SparkSession, config: ReleaseConfig) -> Tensor | None:
    """What any reader of the table gets now: all slices, each once (T, M * M), or None where there is none."""
    table = Workspace.of(config).table("noisy_slices")
    if not DeltaTable.isDeltaTable(spark, table):
        return None
    mine = spark.read.format("delta").load(table).where(F.col("draw_id") == config.draw_id)
    rows = sorted(mine.select("slice", "values").collect())
    slices, whole = [row["slice"] for row in rows], list(range(config.domain.slices))
    assert slices in ([], whole), "a half-written tensor can be read"
    return np.array([row["values"] for row in rows]) if rows else None


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
    if is_published(spark, Workspace.of(config)):
        _check_cells(spark, config)
    return tensor


def check_in_the_end(spark: SparkSession, config: ReleaseConfig, readable_before: Tensor | None) -> None:
    """One tensor, the one that could be read before; one spend; one release, which is made of that tensor."""
    workspace = Workspace.of(config)
    tensor = check_whenever(spark, config)
    assert tensor is not None
    assert readable_before is None or np.array_equal(tensor, readable_before), "noise was drawn a second time"
    assert _states(spark, config) == {State.GRANTED: 1, State.RESERVED: 1, State.SPENT: 1}
    assert Ledger.of(spark, config).account(config.dataset).committed == config.privacy.epsilon
    assert not strays(spark, config), "another drawing lies on the disk"
    assert _appends(spark, workspace) == 1
    releases = spark.read.format("delta").load(workspace.table("releases")).collect()
    assert [row.release_id for row in releases] == [config.release_id]
    _check_cells(spark, config)
    _check_made_of(tensor, spark, config)


def strays(spark: SparkSession, config: ReleaseConfig) -> set[str]:
    """Files in the table of noisy slices that no commit refers to: other drawings of the same noise."""
    workspace = Workspace.of(config)
    live = {unquote(file).rsplit("/", 1)[-1] for file in live_files(spark, workspace)}
    there = {file.name for file in Path(workspace.table("noisy_slices")).glob("draw_id=*/*.parquet")}
    assert live <= there
    return there - live


def _forget_logs(spark: SparkSession) -> None:
    """Look as a process would that starts now: once Delta has seen a log without a commit, it goes on saying so."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def _states(spark: SparkSession, config: ReleaseConfig) -> Counter[State]:
    return Counter(entry.state for entry in Ledger.of(spark, config).entries())


def _appends(spark: SparkSession, workspace: Workspace) -> int:
    table = DeltaTable.forPath(spark, workspace.table("noisy_slices"))
    return table.history().where("operation = 'WRITE'").count()


def _check_cells(spark: SparkSession, config: ReleaseConfig) -> None:
    rows = spark.read.format("delta").load(Workspace.of(config).table("cells")).select("slice", "y", "x").toArrow()
    places = list(zip(*(column.to_pylist() for column in rows.columns), strict=True))
    assert sorted(places) == list(np.ndindex(*config.domain.shape)), "a cell is missing, or stands twice"


def _check_made_of(tensor: Tensor, spark: SparkSession, config: ReleaseConfig) -> None:
    """The release is a function of the stored tensor: made anew from it, here, it is the same."""
    workspace = Workspace.of(config)
    noisy = tensor.reshape(config.domain.shape).astype(np.float32) / np.float32(config.privacy.unit)
    denoised, _ = denoise_tensor(noisy, config, workspace.stage(), Silent())
    kept, total = pings_of_region(live_files(spark, workspace), config)
    expected = refinement_of(config, kept, total, has_prior=denoised.prior is not None).applied(denoised)
    released = read_release(config.output, config.release_id)
    np.testing.assert_allclose(released.counts, expected.counts, rtol=1e-4, atol=1e-4)
    assert released.deviation is not None
    assert expected.deviation is not None
    np.testing.assert_allclose(released.deviation, expected.deviation, rtol=1e-4, atol=1e-4)
