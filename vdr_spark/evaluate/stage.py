"""Evaluation of a release against the truth: a different command, whose results are no part of any release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from vdr_spark.collect.noisy_slices import live_files
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.slices import read_slices
from vdr_spark.denoise.stage import DENOISED
from vdr_spark.errors import InvalidConfig, InvalidInput
from vdr_spark.evaluate.metrics import Errors, compare
from vdr_spark.evaluate.truth import true_counts
from vdr_spark.evaluate.workloads import hotspot_queries, range_queries
from vdr_spark.refine import REFINED, pings_kept, ratio
from vdr_spark.tensor_file import read_tensor
from vdr_spark.workspace import Workspace

_QUERY_SIDE_CELLS = (1.0, 4.0)  # at the paper's 30 m cells: sides of 30 to 120 m
_WORKLOAD_SEED = 1  # of the queries asked, not of any noise


@dataclass(frozen=True)
class Evaluation:
    """Versions of one tensor, each (T, M, M), the truth among them, and each version's errors against it."""

    truth: NDArray[np.float32]
    versions: dict[str, NDArray[np.float32]]
    errors: dict[str, Errors]


def evaluate(
    spark: SparkSession,
    config: ReleaseConfig,
    truth: NDArray[np.float32] | None = None,
    reads_the_truth: bool = False,
) -> Evaluation:
    """Compare the noisy, the denoised and the refined tensor with the exact counts of all pings.

    The result is exact about people: only generated data, or an explicit word, allow it. `truth` saves counting it
    again for another release of the same draw.
    """
    if config.synth is None and not reads_the_truth:
        raise InvalidConfig(
            "evaluation reads the exact counts, and its figures are not private. These pings are not generated "
            "(no section `synth`); if you may look at their truth, say so with --reads-the-truth"
        )
    workspace, grid = Workspace.of(config), config.domain
    truth = true_counts(spark, config) if truth is None else truth
    if not truth.any():
        raise InvalidInput("there is no ping inside the box and the period to evaluate against")
    noisy = read_slices(live_files(spark, workspace), grid)
    scale = ratio(config, pings_kept(noisy, config.privacy.total_pings))
    versions = {
        "noisy": noisy,
        "noisy_scaled": noisy * np.float32(scale),
        "denoised": read_tensor(workspace.stage(DENOISED), grid.cells).counts,
        "refined": read_tensor(workspace.stage(REFINED), grid.cells).counts,
    }
    side = grid.cell_metres[0]
    ranges = range_queries(
        truth, grid, _WORKLOAD_SEED, side_m=(_QUERY_SIDE_CELLS[0] * side, _QUERY_SIDE_CELLS[1] * side)
    )
    hotspots = hotspot_queries(truth, _WORKLOAD_SEED)
    errors = {name: compare(truth, tensor, ranges, hotspots) for name, tensor in versions.items()}
    return Evaluation(truth, versions, errors)
