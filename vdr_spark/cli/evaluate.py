"""`vdr evaluate`: how far a release is from the truth. For generated cities, or by explicit word."""

from __future__ import annotations

import numpy as np
from rich.table import Table

from vdr_spark.cli.console import caution, console
from vdr_spark.cli.options import open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.priors.registry import network_run
from vdr_spark.evaluate.stage import Evaluation, evaluate
from vdr_spark.privacy.mechanism import noise_of
from vdr_spark.report import code_picture, slice_comparison
from vdr_spark.storage.files import write_json
from vdr_spark.storage.workspace import Workspace


def run_evaluation(config: ReleaseConfig, reads_the_truth: bool) -> None:
    """Print the errors of a release and leave them, with a picture, in the folder `evaluation`."""
    caution("this reads the exact counts; what it prints and draws is not differentially private")
    evaluation = evaluate(open_spark(config, "evaluate"), config, reads_the_truth=reads_the_truth)
    console.print(error_table(evaluation))
    folder = save_evaluation(evaluation, config)
    save_codes(evaluation, config)
    console.print(f"Figures and picture are in {folder}", markup=False)


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
    about = {"release_id": config.release_id, "protected": config.privacy.protected}
    write_json(workspace.evaluation("errors.json"), about | {"errors": figures})
    busiest = _busiest(evaluation)
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


def save_codes(evaluation: Evaluation, config: ReleaseConfig) -> None:
    """Where the release was made with a codebook: a picture of what it has learnt, into the same folder."""
    if config.denoise.model != "vqvae":
        return
    from vdr_spark.denoise.networks.training import is_finished
    from vdr_spark.denoise.priors.reconstruction import train_reconstructor

    workspace, grid, busiest = Workspace.of(config), config.domain, _busiest(evaluation)
    noisy, run = evaluation.versions["noisy"], network_run(config.denoise, "vqvae", workspace.stage("vqvae"))
    if not is_finished(run):
        caution(f"no picture of the codes: {run.folder} no longer holds the trained model")
        return
    reconstructor = train_reconstructor(noisy, noise_of(config.privacy), run)
    codes = reconstructor.codes(noisy[busiest])
    assert codes is not None
    reconstructed = np.maximum(reconstructor.reconstruct(noisy[busiest : busiest + 1])[0], 0)
    code_picture(
        {"true": evaluation.truth[busiest], "noisy": noisy[busiest], "drawn by the codes": reconstructed},
        codes,
        workspace.evaluation("codes.png"),
        f"What the codebook makes of the slice from {grid.slice_start(busiest):%Y-%m-%d %H:%M} UTC",
        grid=grid,
        protected=config.privacy.protected,
    )


def _busiest(evaluation: Evaluation) -> int:
    return int(np.argmax(evaluation.versions["refined"].sum(axis=(1, 2))))
