"""The publish stage: the refined tensor becomes rows of `cells`, then one row of `releases` says so.

The row in `releases` comes last: a release that is not in it is not published, whatever `cells` holds. Both writes
are atomic and happen once, so a run that was killed in between is simply run again.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import NOTES
from vdr_spark.errors import LedgerConflict, StageMissing
from vdr_spark.privacy.ledger import Ledger, State
from vdr_spark.privacy.statement import UNIT, privacy_statement
from vdr_spark.refine import REFINED, REFINEMENT
from vdr_spark.release.cells import cell_rows
from vdr_spark.tables import CELLS, RELEASES, append_once, create_if_missing, read_part
from vdr_spark.workers import in_worker
from vdr_spark.workspace import Workspace, exists, read_json


def publish(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Write the release of a configuration into the tables; False where it is published already."""
    workspace = Workspace.of(config)
    if is_published(spark, workspace):
        return False
    if not exists(workspace.stage(REFINED)):
        raise StageMissing(f"release {workspace.release_id} has no refined tensor yet; run `vdr refine` first")
    if Ledger(spark, workspace.ledger).state_of(workspace.draw_id) is not State.SPENT:
        raise LedgerConflict(
            f"draw {workspace.draw_id} is not booked as spent in {workspace.ledger}; run `vdr collect` first"
        )
    refined = spark.read.option("__globPaths__", "false").parquet(workspace.stage(REFINED))  # a name, no pattern
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in CELLS.columns)
    cells = refined.mapInArrow(in_worker(cell_rows(config.domain, workspace.release_id)), schema)
    _append(cells, workspace, CELLS.name)
    _append(_release_row(spark, config, workspace), workspace, RELEASES.name)
    return True


def is_published(spark: SparkSession, workspace: Workspace) -> bool:
    rows = read_part(spark, workspace.table(RELEASES.name), RELEASES, workspace.release_id)
    return rows is not None and not rows.isEmpty()


def _append(frame: DataFrame, workspace: Workspace, name: str) -> None:
    table = {CELLS.name: CELLS, RELEASES.name: RELEASES}[name]
    create_if_missing(frame.sparkSession, workspace.table(name), table)
    append_once(frame, workspace.table(name), table, f"release:{workspace.release_id}")


def _release_row(spark: SparkSession, config: ReleaseConfig, workspace: Workspace) -> DataFrame:
    grid, privacy = config.domain, config.privacy
    denoised, refined = (read_json(workspace.stage(name)) for name in (NOTES, REFINEMENT))
    values = {
        "release_id": workspace.release_id,
        "draw_id": workspace.draw_id,
        "region": config.focus,
        "dataset": config.dataset,
        "created": datetime.now(UTC),
        "protected": privacy.protected,
        "period_start": grid.start,
        "period_end": grid.end,
        "slice_seconds": grid.slice_seconds,
        "slices": grid.slices,
        "cells": grid.cells,
        **vars(grid.box),
        "unit": UNIT,
        "mechanism": privacy.mechanism,
        "epsilon": str(privacy.epsilon),
        "k": privacy.bound,
        "bounding": privacy.bounding,
        "total_pings": privacy.total_pings,
        "model": denoised["model"] + ("+fusion" if denoised["fusion"] else ""),
        "estimated_rmse": denoised["estimated_rmse"],
        "gamma": refined["gamma"],
        "kappa": refined["kappa"],
        "code_version": version("vdr-spark"),
        "configuration_hash": config.configuration_hash,
        "statement": json.dumps(privacy_statement(config), sort_keys=True),
    }
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in RELEASES.columns)
    return spark.createDataFrame([tuple(values[name] for name, _, _ in RELEASES.columns)], schema)
