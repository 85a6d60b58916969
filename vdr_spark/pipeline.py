"""The stages in their order, each resumable: one whose output is complete is not run again."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from vdr_spark.collect.noisy_slices import is_stored, live_files, remove_strays
from vdr_spark.collect.stage import collect, layers_of, require_booked
from vdr_spark.collect.total import settled, workspace_of_draw
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import denoise
from vdr_spark.errors import StageMissing
from vdr_spark.progress import Progress, Silent, spark_task
from vdr_spark.refine import refine
from vdr_spark.release.publish import publish
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release
from vdr_spark.storage.workspace import Workspace
from vdr_spark.synth.generate import write_synthetic

Stage = Callable[[SparkSession, ReleaseConfig, Progress], bool]
"""A stage returns False where its output was complete and nothing was done."""


def _synth(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> bool:
    with spark_task(spark, progress, "synth: generate pings"):
        return write_synthetic(spark, config)


def _collect(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> bool:
    with spark_task(spark, progress, "collect: bound, count, add noise"):
        return collect(spark, config)


def _denoise(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> bool:
    files = _noisy_files(spark, config)
    done = [denoise(files, view, progress) for view in config.views()]
    return any(done)


def _refine(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> bool:
    with progress.task("refine: scale to all pings", 1) as update:
        files = _noisy_files(spark, config)
        done = [refine(files, view) for view in config.views()]
        update(1, "")
    return any(done)


def _publish(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> bool:
    with spark_task(spark, progress, "publish: write Delta tables"):
        done = [publish(spark, view) for view in config.views()]
    return any(done)


STAGES: dict[str, Stage] = {
    "synth": _synth,
    "collect": _collect,
    "denoise": _denoise,
    "refine": _refine,
    "publish": _publish,
}
RELEASE_STAGES = ("collect", "denoise", "refine", "publish")


def run_stage(name: str, spark: SparkSession, config: ReleaseConfig, progress: Progress | None = None) -> bool:
    """Run one stage of a configuration; False where its output was complete already."""
    return STAGES[name](spark, settled(spark, config), progress or Silent())


def run_release(spark: SparkSession, config: ReleaseConfig, progress: Progress | None = None) -> Release:
    """Collect, denoise, refine and publish, as far as that was not done before; then read the release back.

    Where the configuration has several regions, all of them are released, and the one in focus, or the first, is read.
    """
    for name in RELEASE_STAGES:
        run_stage(name, spark, config, progress)
    return read_release(config.output, config.views()[0].release_id)


def _noisy_files(spark: SparkSession, config: ReleaseConfig) -> list[str]:
    workspace = Workspace.of(config)
    if not is_stored(spark, workspace, layers_of(config)):
        raise StageMissing(f"draw {workspace.draw_id} has no noisy tensor yet; run `vdr collect` first")
    for draw in config.draws:
        remove_strays(spark, workspace_of_draw(config, draw))
    require_booked(spark, config)
    return live_files(spark, workspace)
