"""`vdr demo`: a made-up city from its pings to a private release, its queries, its errors and its pictures."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession
from rich.markup import escape

from vdr_spark.cli.console import ConsoleProgress, console
from vdr_spark.cli.evaluate import error_table, save_codes, save_evaluation
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.networks.training import read_training_log
from vdr_spark.errors import InvalidConfig
from vdr_spark.evaluate.stage import Evaluation, evaluate
from vdr_spark.grid import Box
from vdr_spark.pipeline import RELEASE_STAGES, run_stage
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.progress import Progress
from vdr_spark.query import Forecast, forecast, nearest_hotspot, range_count
from vdr_spark.release.read import read_release
from vdr_spark.release.release import Release
from vdr_spark.report import plot_day, plot_errors, plot_forecast, plot_training
from vdr_spark.storage.files import write_json
from vdr_spark.storage.workspace import Workspace


def run_demo(config: ReleaseConfig) -> None:
    """All stages, a second opinion by the paper's model, queries, errors, pictures, and a summary."""
    began = time.monotonic()
    if config.synth is None:
        raise InvalidConfig("synth: is missing; the demo runs on generated pings only, see conf/demo.yaml")
    spark, progress = open_spark(config, "demo"), ConsoleProgress()
    for name in ("synth", *RELEASE_STAGES):
        if not run_stage(name, spark, config, progress):
            console.print(f"  [dim]{name}: complete already, nothing was done[/dim]")
    release = read_release(config.output, config.release_id)
    paper = _with_paper_model(spark, config, progress)
    with progress.task("evaluate: compare with the generated truth", None):
        ours = evaluate(spark, config)
        papers = evaluate(spark, paper, ours.truth)
        save_evaluation(ours, config)
        save_codes(papers, paper)
    ahead = forecast(release, _centre(release), horizon=8)
    with progress.task("pictures", None):
        _draw(release, ahead, config, paper, ours)
    summary = _summary(spark, config, release, ahead, ours, papers, time.monotonic() - began)
    write_json(f"{Workspace.of(config).root}/summary.json", summary)
    console.print(error_table(ours))
    _print(config, summary)


def _with_paper_model(spark: SparkSession, config: ReleaseConfig, progress: Progress) -> ReleaseConfig:
    """The paper's VQ-VAE over the same noisy tensor: post-processing, so a second opinion costs no privacy."""
    denoise = config.denoise.model_copy(update={"model": "vqvae"})
    paper = config.model_copy(update={"denoise": denoise})
    for name in ("denoise", "refine"):
        run_stage(name, spark, paper, progress)
    return paper


def _centre(release: Release) -> Box:
    box = release.grid.box
    return Box.around((box.south + box.north) / 2, (box.west + box.east) / 2, 1000.0)


def _draw(
    release: Release, ahead: Forecast, config: ReleaseConfig, paper: ReleaseConfig, evaluation: Evaluation
) -> None:
    workspace, zone = Workspace.of(config), config.period.timezone
    day = release.grid.start.astimezone(ZoneInfo(zone)).date()
    plot_day(release, day, workspace.pictures("day.png"), zone)
    plot_forecast(release, ahead, workspace.pictures("forecast.png"))
    log = read_training_log(Workspace.of(paper).stage("vqvae"))
    plot_training(log, workspace.pictures("loss.png"), protected=release.protected)
    figures = {name.replace("_", ", "): errors.relative_error for name, errors in evaluation.errors.items()}
    plot_errors(figures, workspace.evaluation("errors.png"), protected=release.protected)


def _summary(
    spark: SparkSession,
    config: ReleaseConfig,
    release: Release,
    ahead: Forecast,
    ours: Evaluation,
    papers: Evaluation,
    seconds: float,
) -> dict[str, Any]:
    account = Ledger.of(spark, config).account(config.dataset)
    centre, grid = _centre(release), release.grid
    first_day = (grid.start, min(grid.end, grid.start + timedelta(days=1)))
    lat, lon = (centre.south + centre.north) / 2, (centre.west + centre.east) / 2
    noon = min(grid.slices - 1, int(grid.slices_per_day // 2))
    return {
        "release_id": release.release_id,
        "protected": release.protected,
        "epsilon_spent": float(account.committed),
        "epsilon_granted": float(account.granted),
        **{f"error_{name}": errors.relative_error for name, errors in ours.errors.items()},
        "error_refined_vqvae": papers.errors["refined"].relative_error,
        "answers": {
            "range": range_count(release, centre, *first_day).sentence(),
            "hotspot": nearest_hotspot(release, lat, lon, noon).sentence(),
            "forecast": ahead.sentence(),
        },
        "seconds": round(seconds, 1),
    }


def _print(config: ReleaseConfig, summary: dict[str, Any]) -> None:
    promise = f"every user, with all pings of the period: epsilon {config.privacy.epsilon}, pure, user level"
    if not config.privacy.protected:
        promise = "[bold red]nothing: privacy.test_seed is set, this release protects nobody[/bold red]"
    output = escape(config.output)
    console.print(
        f"\n[bold]Promised[/bold]  {promise}\n"
        f"[bold]Spent[/bold]     epsilon {summary['epsilon_spent']:g} of {summary['epsilon_granted']:g} "
        f"granted to dataset {config.dataset}\n"
        f"[bold]Range[/bold]     {summary['answers']['range']}\n"
        f"[bold]Hot spot[/bold]  {summary['answers']['hotspot']}\n"
        f"[bold]Forecast[/bold]  {summary['answers']['forecast']}\n"
        f"[bold]Error[/bold]     of range counts: noisy {summary['error_noisy']:.3f}, denoised "
        f"{summary['error_denoised']:.3f}, refined {summary['error_refined']:.3f} (the paper's VQ-VAE, "
        f"briefly trained, in place of `{config.denoise.model}`: {summary['error_refined_vqvae']:.3f})\n"
        f"[bold]Tables[/bold]    {output}/tables\n"
        f"[bold]Statement[/bold] {output}/statements\n"
        f"[bold]Pictures[/bold]  {output}/pictures, and beside the truth {output}/evaluation\n"
        f"[bold]Seconds[/bold]   {summary['seconds']:.0f}"
    )
