"""Figures and pictures of an evaluation, in a folder of their own, apart from every release."""

from __future__ import annotations

import logging

import numpy as np

from vdr_spark.evaluate.stage import Evaluation
from vdr_spark.plan import ReleasePlan
from vdr_spark.report import plot_codes, plot_errors, plot_slices
from vdr_spark.storage.files import write_json

logger = logging.getLogger(__name__)


def save_evaluation(evaluation: Evaluation, release: ReleasePlan) -> str:
    """Write the errors, and pictures of them and of one slice; return the folder."""
    output, grid, protected = release.plan.output, release.grid, release.protected
    figures = {name: errors.as_dict() for name, errors in evaluation.errors.items()}
    about = {"release_id": release.release_id, "protected": protected}
    by_size = {"scales": evaluation.scales, "coverage": evaluation.coverage}
    hotspots = {
        density: {way: errors.as_dict() for way, errors in ways.items()}
        for density, ways in evaluation.hotspots.items()
    }
    paper = {"ranges": evaluation.ranges, "hotspots": hotspots, "forecasts": evaluation.forecasts}
    write_json(output.evaluation("errors.json"), about | {"errors": figures} | by_size | {"paper": paper})
    busiest = find_busiest_slice(evaluation)
    panels = {"true": evaluation.truth[busiest]}
    panels |= {name: evaluation.versions[name][busiest] for name in ("noisy", "denoised", "refined")}
    title = f"The slice from {grid.slice_start(busiest):%Y-%m-%d %H:%M} UTC"
    plot_slices(panels, output.evaluation("slice.png"), title, grid=grid, protected=protected)
    bars = {name.replace("_", ", "): errors.relative_error for name, errors in evaluation.errors.items()}
    plot_errors(bars, output.evaluation("errors.png"), protected=protected)
    return output.evaluation("")


def save_codes(evaluation: Evaluation, release: ReleasePlan) -> None:
    """Where the release was made with a codebook: write a picture of what it has learnt, into the same folder."""
    if release.config.denoise.model != "vqvae":
        return
    from vdr_spark.denoise.networks.training import is_finished
    from vdr_spark.denoise.priors.reconstruction import train_reconstructor
    from vdr_spark.denoise.priors.registry import network_run

    grid, busiest, noisy = release.grid, find_busiest_slice(evaluation), evaluation.versions["noisy"]
    run = network_run(release.config.denoise, "vqvae", release.folder.network("vqvae"))
    if not is_finished(run):
        logger.warning("no picture of the codes: %s no longer holds the trained model", run.folder)
        return
    reconstructor = train_reconstructor(noisy, release.noise, run)
    codes = reconstructor.codes(noisy[busiest])
    assert codes is not None
    reconstructed = np.maximum(reconstructor.reconstruct(noisy[busiest : busiest + 1])[0], 0)
    plot_codes(
        {"true": evaluation.truth[busiest], "noisy": noisy[busiest], "reconstructed": reconstructed},
        codes,
        release.plan.output.evaluation("codes.png"),
        f"What the codebook makes of the slice from {grid.slice_start(busiest):%Y-%m-%d %H:%M} UTC",
        grid=grid,
        protected=release.protected,
    )


def find_busiest_slice(evaluation: Evaluation) -> int:
    return int(np.argmax(evaluation.versions["refined"].sum(axis=(1, 2))))
