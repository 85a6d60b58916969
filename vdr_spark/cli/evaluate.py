"""`vdr evaluate`: how far a release is from the truth. For generated cities, or by explicit word."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from vdr_spark.cli.console import caution, console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.evaluate.stage import Evaluation, evaluate
from vdr_spark.report import slice_comparison
from vdr_spark.workspace import Workspace, write_json


def run_evaluation(config: ReleaseConfig, reads_the_truth: bool) -> None:
    """Print the errors of a release and leave them, with a picture, in the folder `evaluation`."""
    caution("this reads the exact counts; what it prints and draws is not differentially private")
    evaluation = evaluate(open_spark(config, "evaluate"), config, reads_the_truth=reads_the_truth)
    console.print(error_table(evaluation))
    folder = save_evaluation(evaluation, config)
    console.print(f"Figures and picture are in {folder}")


def error_table(evaluation: Evaluation) -> Table:
    table = Table("", "range counts, relative error", "cell, RMSE", "hot spot, cells off")
    for name, errors in evaluation.errors.items():
        figures = (errors.relative_error, errors.rmse, errors.hotspot_distance)
        table.add_row(name.replace("_", ", "), *(f"{figure:.3f}" for figure in figures))
    return table


def save_evaluation(evaluation: Evaluation, config: ReleaseConfig) -> str:
    """Write the figures and the picture of one slice into the folder `evaluation`, apart from the release."""
    workspace, grid = Workspace.of(config), config.domain
    figures = {name: errors.as_dict() for name, errors in evaluation.errors.items()}
    write_json(workspace.evaluation("errors.json"), {"release_id": config.release_id, "errors": figures})
    busiest = int(np.argmax(evaluation.versions["refined"].sum(axis=(1, 2))))
    panels = {"true": evaluation.truth[busiest]}
    panels |= {name: evaluation.versions[name][busiest] for name in ("noisy", "denoised", "refined")}
    slice_comparison(
        panels,
        workspace.evaluation("slice.png"),
        f"The slice from {grid.slice_start(busiest):%Y-%m-%d %H:%M} UTC",
        grid=grid,
        protected=config.privacy.protected,
    )
    return workspace.evaluation("")
