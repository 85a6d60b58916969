"""The demo: a generated city from its pings to a private release, its queries, its errors and its pictures."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.networks.training_log import read_training_log
from vdr_spark.errors import InvalidConfig
from vdr_spark.evaluate.pictures import save_codes, save_evaluation
from vdr_spark.evaluate.stage import Evaluation, evaluate
from vdr_spark.grid import Box
from vdr_spark.pipeline import STAGES, Pipeline
from vdr_spark.progress import Progress
from vdr_spark.query import Forecast
from vdr_spark.release.release import Release
from vdr_spark.release.views import read_by_spark
from vdr_spark.report import plot_day, plot_forecast, plot_training
from vdr_spark.report_page import gather, report_page
from vdr_spark.storage.files import write_json, write_text


def run_demo(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> tuple[Evaluation, dict[str, Any]]:
    """Run all stages, a second opinion by the paper's model, queries, errors and pictures; return a summary too."""
    began = time.monotonic()
    if config.synth is None:
        raise InvalidConfig("synth: is missing; the demo runs on generated pings only, see conf/demo.yaml")
    ours, paper = Pipeline(spark, config, progress), _paper_pipeline(spark, config, progress)
    paper.prepare(STAGES)  # what this one needs, the other does too
    for stage in STAGES:
        ours.run(stage)
    for stage in ("denoise", "refine"):  # post-processing: a second opinion costs no privacy
        paper.run(stage)
    (our_plan,), (paper_plan,) = ours.draws.releases(), paper.draws.releases()
    release = read_by_spark(spark, ours.plan.output, our_plan.release_id)
    with progress.task("evaluate: compare with the generated truth", None):
        evaluation = evaluate(spark, ours.draws, our_plan)
        paper_evaluation = evaluate(spark, paper.draws, paper_plan, evaluation.truth)
        save_evaluation(evaluation, our_plan)
        save_codes(paper_evaluation, paper_plan)
    ahead = release.forecast(_centre(release), horizon=8)
    with progress.task("pictures", None):
        _save_pictures(release, ahead, ours, paper_plan.folder.network("vqvae"))
    with progress.task("report", None):
        report = _write_report(spark, release, ours)
    summary = _summarise(ours, release, ahead, evaluation) | {
        "report": report,
        "error_refined_vqvae": paper_evaluation.errors["refined"].relative_error,
        "seconds": round(time.monotonic() - began, 1),
    }
    write_json(ours.plan.output.summary, summary)
    return evaluation, summary


def _paper_pipeline(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> Pipeline:
    """Return the paper's VQ-VAE over the same noisy tensor."""
    denoise = config.denoise.model_copy(update={"model": "vqvae"})
    return Pipeline(spark, config.model_copy(update={"denoise": denoise}), progress)


def _centre(release: Release) -> Box:
    return Box.around(*release.grid.box.centre, 1000.0)


def _save_pictures(release: Release, ahead: Forecast, pipeline: Pipeline, network: str) -> None:
    output, zone = pipeline.plan.output, pipeline.config.period.timezone
    day = release.grid.start.astimezone(ZoneInfo(zone)).date()
    plot_day(release, day, output.picture("day.png"), zone)
    plot_forecast(release, ahead, output.picture("forecast.png"))
    plot_training(read_training_log(network), output.picture("loss.png"), protected=release.protected)


def _write_report(spark: SparkSession, release: Release, pipeline: Pipeline) -> str:
    """Write the report on the release, without a look at the truth; return where."""
    output, ledger = pipeline.plan.output, pipeline.plan.ledger
    path = output.report(release.release_id)
    write_text(path, report_page(gather(release, output, ledger, lambda: spark, conf="conf/demo.yaml")))
    return path


def _summarise(pipeline: Pipeline, release: Release, ahead: Forecast, evaluation: Evaluation) -> dict[str, Any]:
    account = pipeline.draws.ledger.account(pipeline.config.dataset)
    centre, grid = _centre(release), release.grid
    first_day = (grid.start, min(grid.end, grid.start + timedelta(days=1)))
    noon = min(grid.slices - 1, int(grid.slices_per_day // 2))
    return {
        "release_id": release.release_id,
        "protected": release.protected,
        f"{account.currency}_spent": float(account.committed),
        f"{account.currency}_granted": float(account.granted),
        **{f"error_{name}": errors.relative_error for name, errors in evaluation.errors.items()},
        "answers": {
            "range": release.range_count(centre, *first_day).sentence(),
            "hotspot": release.nearest_hotspot(*centre.centre, noon).sentence(),
            "forecast": ahead.sentence(),
        },
    }
