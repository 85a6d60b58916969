"""`vdr evaluate`: how far a release is from the truth. For generated cities, or by explicit word."""

from __future__ import annotations

from rich.table import Table

from vdr_spark.cli.console import caution, console
from vdr_spark.cli.options import open_spark
from vdr_spark.collect.draws import open_draws
from vdr_spark.config import ReleaseConfig
from vdr_spark.evaluate.pictures import save_codes, save_evaluation
from vdr_spark.evaluate.stage import Evaluation, evaluate
from vdr_spark.plan import make_plan


def run(config: ReleaseConfig, region: str | None, reads_the_truth: bool) -> None:
    """Print the errors of a release and leave them, with pictures, in the folder `evaluation`."""
    caution("this reads the exact counts; what it prints and plots is not differentially private")
    plan = make_plan(config)
    chosen = plan.choose_region(region)
    spark = open_spark(config, "evaluate")
    draws = open_draws(spark, plan)
    release = next(release for release in draws.releases() if release.region == chosen)
    evaluation = evaluate(spark, draws, release, reads_the_truth=reads_the_truth)
    console.print(error_table(evaluation))
    console.print(scale_table(evaluation))
    console.print(paper_table(evaluation))
    console.print(hotspot_table(evaluation))
    folder = save_evaluation(evaluation, release)
    save_codes(evaluation, release)
    console.print(f"Figures and pictures are in {folder}", markup=False)


def scale_table(evaluation: Evaluation) -> Table:
    """Return errors of sums by size, of the noisy counts scaled up and of the release, and how its error bars hold."""
    table = Table("squares, side in cells", "noisy, scaled", "released", "within 1 bar, 90 %, 2 bars")
    noisy, released = (evaluation.scales[name] for name in ("noisy_scaled", "refined"))
    for name in {**released, **evaluation.coverage}:
        figures = (f"{of[name]:.3f}" if name in of else "" for of in (noisy, released))
        covered = evaluation.coverage.get(name)
        table.add_row(name, *figures, "" if covered is None else " ".join(f"{share:.2f}" for share in covered))
    return table


def paper_table(evaluation: Evaluation) -> Table:
    """Return errors of range counts by side, and of forecasts, of each version."""
    sides = next(iter(evaluation.ranges.values()))
    table = Table("", *(f"squares of {side}" for side in sides), "forecasts, sMAPE")
    for name, errors in evaluation.ranges.items():
        smape = evaluation.forecasts.get(name)
        figures = (*(f"{error:.3f}" for error in errors.values()), "" if smape is None else f"{smape:.3f}")
        table.add_row(name.replace("_", ", "), *figures)
    return table


def hotspot_table(evaluation: Evaluation) -> Table:
    """Return errors of nearest hot spots by density and way."""
    table = Table("hot spots of so many pings", "searched for in", "cells off", "regret, pings", "missed", "false")
    for density, ways in evaluation.hotspots.items():
        for way, errors in ways.items():
            figures = (f"{errors.distance:.2f}", f"{errors.regret:.2f}", str(errors.missed), str(errors.false))
            table.add_row(density, way.replace("_", ", ").replace("by, ", "refined, by "), *figures)
    return table


def error_table(evaluation: Evaluation) -> Table:
    table = Table("", "range counts, relative error", "cell, RMSE", "hot spot, cells off")
    for name, errors in evaluation.errors.items():
        figures = (errors.relative_error, errors.rmse, errors.hotspot_distance)
        table.add_row(name.replace("_", ", "), *(f"{figure:.3f}" for figure in figures))
    return table
