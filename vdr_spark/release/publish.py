"""The publish stage: the refined tensor becomes rows of `cells`, then one row of `releases` says so.

The row in `releases` comes last: a release that is not in it is not published, whatever `cells` holds. Both writes
are atomic and happen once, so a run that was killed in between is simply run again. The statement's JSON and page are
copies of what the row says, and are written again where they are missing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.collect.stage import require_booked
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.stage import NOTES
from vdr_spark.errors import StageMissing
from vdr_spark.privacy.accounting import Entry
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.statement import UNIT, Published, privacy_statement
from vdr_spark.refine import REFINED, REFINEMENT
from vdr_spark.release.cells import cell_rows
from vdr_spark.release.read import read_cells
from vdr_spark.release.statement_page import statement_page
from vdr_spark.storage import tensor_file
from vdr_spark.storage.files import as_json, exists, read_json, write_text
from vdr_spark.storage.tables import CELLS, RELEASES, append_once, create_if_missing, read_part
from vdr_spark.storage.workspace import Workspace
from vdr_spark.workers import in_worker


def publish(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Write the release of a configuration into the tables; False where it is published already."""
    workspace = Workspace.of(config)
    if is_published(spark, workspace):
        _write_statement(spark, workspace)
        return False
    if not exists(workspace.stage(REFINED)):
        raise StageMissing(f"release {workspace.release_id} has no refined tensor yet; run `vdr refine` first")
    spent = require_booked(spark, config)
    refined = spark.read.option("__globPaths__", "false").parquet(workspace.stage(REFINED))  # a name, no pattern
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in CELLS.columns)
    cells = refined.mapInArrow(
        in_worker(cell_rows(config.domain, workspace.release_id, config.privacy.protected)), schema
    )
    _append(cells, workspace, CELLS.name)
    _append(_release_row(spark, config, workspace, spent), workspace, RELEASES.name)
    _write_statement(spark, workspace)
    return True


def _write_statement(spark: SparkSession, workspace: Workspace) -> None:
    """The statement of the published row, as files for people and programs, unless they are there."""
    if exists(workspace.statement("json")) and exists(workspace.statement("html")):
        return
    rows = read_part(spark, workspace.table(RELEASES.name), RELEASES, workspace.release_id)
    assert rows is not None
    statement = json.loads(rows.select("statement").collect()[0][0])
    if "exact" not in statement:
        return  # published by an earlier version, whose statement has no page
    write_text(workspace.statement("json"), as_json(statement))
    write_text(workspace.statement("html"), statement_page(statement))


def is_published(spark: SparkSession, workspace: Workspace) -> bool:
    rows = read_part(spark, workspace.table(RELEASES.name), RELEASES, workspace.release_id)
    return rows is not None and not rows.isEmpty()


def _append(frame: DataFrame, workspace: Workspace, name: str) -> None:
    table = {CELLS.name: CELLS, RELEASES.name: RELEASES}[name]
    create_if_missing(frame.sparkSession, workspace.table(name), table)
    append_once(frame, workspace.table(name), table, f"release:{workspace.release_id}")


def _release_row(spark: SparkSession, config: ReleaseConfig, workspace: Workspace, spent: Entry) -> DataFrame:
    denoised, refined = (read_json(workspace.stage(name)) for name in (NOTES, REFINEMENT))
    # Of what is in the table: an earlier run may have written it, before it was killed.
    cells = read_cells(config.output, workspace.release_id, config.domain)
    published = Published(
        created=datetime.now(UTC),
        model=denoised["model"] + ("+fusion" if denoised["fusion"] else ""),
        estimated_rmse=denoised["estimated_rmse"],
        gamma=refined["gamma"],
        kappa=refined["kappa"],
        cells_sha256=tensor_file.checksum(*cells),
        code_version=version("vdr-spark"),
        configuration_hash=config.configuration_hash,
    )
    values = release_values(config, published, Ledger.of(spark, config).entries(), spent)
    schema = ", ".join(f"{name} {kind}" for name, kind, _ in RELEASES.columns)
    return spark.createDataFrame([tuple(values[name] for name, _, _ in RELEASES.columns)], schema)


def release_values(config: ReleaseConfig, published: Published, book: Sequence[Entry], spent: Entry) -> dict[str, Any]:
    """The row of a release: what follows from its configuration and the ledger, and what was found in the making."""
    grid, privacy = config.domain, config.privacy
    return {
        "release_id": config.release_id,
        "draw_id": config.draw_id,
        "region": config.focus,
        "dataset": config.dataset,
        "protected": privacy.protected,
        "period_start": grid.start,
        "period_end": grid.end,
        "slice_seconds": grid.slice_seconds,
        "slices": grid.slices,
        "cells_per_side": grid.cells_per_side,
        **vars(grid.box),
        "unit": UNIT,
        "mechanism": privacy.mechanism,
        "epsilon": str(privacy.epsilon),
        "k": privacy.bound,
        "bounding": privacy.bounding,
        "total_pings": privacy.total,
        **vars(published),
        "statement": json.dumps(privacy_statement(config, published, book), sort_keys=True),
        "ledger_entry": spent.sequence,
        "ledger_entry_hash": spent.entry_hash,
    }
