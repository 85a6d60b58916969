"""The publish stage: the refined tensor becomes rows of `cells`, their sums `pyramid`; then `releases` says so.

The row in `releases` comes last: a release that is not in it is not published, whatever `cells` holds. All writes
are atomic and happen once, so a run that was killed in between is simply run again. The statement's JSON and page are
copies of what the row says, and are written again where they are missing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Any

from pyspark.sql import SparkSession

from vdr_spark.arrays import Slices
from vdr_spark.errors import SignalTooWeak, StageMissing
from vdr_spark.plan import ReleasePlan
from vdr_spark.plan.plan import find_superseded
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.append import append_rows, transaction_of
from vdr_spark.release.cell_files import write_cell_files
from vdr_spark.release.cells import cell_rows
from vdr_spark.release.publish_pyramid import write_pyramid
from vdr_spark.release.register import Register
from vdr_spark.release.statement import write_statement
from vdr_spark.release.statement_page import statement_page
from vdr_spark.release.statement_parts import Published
from vdr_spark.release.views import read_back
from vdr_spark.release.withdrawals import refuse_republishing
from vdr_spark.signal import Signal
from vdr_spark.storage.delta_files import NewFile, append_files_once
from vdr_spark.storage.files import as_json, exists, read_json, write_text
from vdr_spark.storage.paths import holds_locks
from vdr_spark.storage.schemas import CELLS, RELEASES
from vdr_spark.storage.tables import create_if_missing, only_writer, read_partition
from vdr_spark.storage.tensor_file import checksum, read_tensor
from vdr_spark.workers import in_worker

logger = logging.getLogger(__name__)


def publish(spark: SparkSession, release: ReleasePlan, spent: Entry, entries: Sequence[Entry], signal: Signal) -> bool:
    """Write a release into the tables; False where it is published already.

    `spent` is the ledger's entry that paid for its draw, `entries` are all of the ledger's, `signal` is what the noisy
    sums say. What drowns is published with a warning, or refused where the configuration says so. What was withdrawn
    is refused.
    """
    register = Register(release.plan.output, lambda: spark)
    if (withdrawal := register.withdrawals().get(release.release_id)) is not None:
        raise refuse_republishing(withdrawal)
    register.create_withdrawals()
    if is_published(spark, release):
        _write_statement_files(spark, release)
        return False
    if not exists(release.folder.refined):
        raise StageMissing(f"release {release.release_id} has no refined tensor yet; run `vdr refine` first")
    _require_signal(release, signal)
    _write_cells(spark, release)
    # Of what is in the table: an earlier run may have written it, before it was killed.
    cells = read_back(spark, release.plan.output, release.release_id, release.grid)
    write_pyramid(spark, release, *cells)
    row = describe_release(release, _look_at_cells(cells, release, signal), entries, spent)
    frame = spark.createDataFrame([tuple(row[name] for name in RELEASES.names)], RELEASES.schema)
    append_rows(frame, release, RELEASES)
    _write_statement_files(spark, release)
    return True


def _write_cells(spark: SparkSession, release: ReleasePlan) -> None:
    """Write the cells into their table, once: on a disk straight into its files, elsewhere through Spark."""
    place = release.plan.output.table(CELLS.name)
    if not (isinstance(place, str) and holds_locks(place)):
        refined = spark.read.option("__globPaths__", "false").parquet(release.folder.refined)  # a name, no pattern
        expand = in_worker(cell_rows(release.grid, release.release_id, release.protected))
        append_rows(refined.mapInArrow(expand, CELLS.schema), release, CELLS)
        return
    with only_writer(spark, place):
        create_if_missing(spark, place, CELLS)
    partition = {"release_id": release.release_id}

    def write() -> list[NewFile]:
        tensor = read_tensor(release.folder.refined, release.grid.cells_per_side)
        return write_cell_files(place, f"release_id={release.release_id}", release.grid, tensor, release.protected)

    append_files_once(place, CELLS, transaction_of(release), partition, write)


def _write_statement_files(spark: SparkSession, release: ReleasePlan) -> None:
    """Write the statement of the published row, as files for people and programs, unless they are there."""
    output, release_id = release.plan.output, release.release_id
    if exists(output.statement(release_id, "json")) and exists(output.statement(release_id, "html")):
        return
    rows = read_partition(spark, output.table(RELEASES.name), RELEASES, release_id)
    assert rows is not None
    statement = json.loads(rows.select("statement").collect()[0][0])
    write_text(output.statement(release_id, "json"), as_json(statement))
    write_text(output.statement(release_id, "html"), statement_page(statement))


def is_published(spark: SparkSession, release: ReleasePlan) -> bool:
    rows = read_partition(spark, release.plan.output.table(RELEASES.name), RELEASES, release.release_id)
    return rows is not None and not rows.isEmpty()


def _require_signal(release: ReleasePlan, signal: Signal) -> None:
    """Warn of what readers would take for counts and is noise; refuse it below what the configuration asks for."""
    least = release.config.least_signal
    if least is not None and signal.strength < least:
        raise SignalTooWeak(
            f"least_signal must be reached for a release to be published: {least:g} deviations of the noise, and "
            f"{signal.sentence()}, which is {signal.strength:.3g}. Nothing was published; what was spent stays spent"
        )
    for warning in signal.warnings():
        logger.warning(warning)


def _look_at_cells(cells: tuple[Slices, Slices | None], release: ReleasePlan, signal: Signal) -> Published:
    """Return what is known only now: how it was made, and the SHA-256 of the cells in the table."""
    denoising, refinement = read_json(release.folder.denoising), read_json(release.folder.refinement)
    return Published(
        created=datetime.now(UTC),
        model=denoising["model"] + ("+fusion" if denoising["fusion"] else ""),
        estimated_rmse=denoising["estimated_rmse"],
        noisy_total=signal.total,
        noisy_total_deviation=signal.deviation,
        slices_told=signal.slices_told,
        noise_deviation=release.noise.deviation * refinement["gamma"],
        **_errors_of_sums(refinement["sum_errors"]),
        gamma=refinement["gamma"],
        kappa=refinement["kappa"],
        cells_sha256=checksum(*cells),
        code_version=version("vdr-spark"),
        configuration_hash=release.plan.configuration_hash,
    )


def _errors_of_sums(notes: dict[str, Any] | None) -> dict[str, Any]:
    """Return the columns of the errors of sums, as refinement wrote them down."""
    notes = notes or {"spreads": None, "sum_deviation": None, "total": None}
    total = notes["total"] or {"pings": None, "deviation": None}
    return {
        "sum_errors": notes["spreads"],
        "released_total": total["pings"],
        "sum_deviation": notes["sum_deviation"],
        "total_deviation": total["deviation"],
    }


def describe_release(
    release: ReleasePlan, published: Published, entries: Sequence[Entry], spent: Entry
) -> dict[str, Any]:
    """Return the row of a release: what follows from its plan and the ledger, and what was found in the making."""
    grid, privacy = release.grid, release.config.privacy
    return {
        "release_id": release.release_id,
        "draw_id": release.draw.draw_id,
        "region": release.region.name,
        "dataset": release.config.dataset,
        "protected": release.protected,
        "period_start": grid.start,
        "period_end": grid.end,
        "slice_seconds": grid.slice_seconds,
        "slices": grid.slices,
        "cells_per_side": grid.cells_per_side,
        **vars(grid.box),
        "privacy_unit": privacy.unit,
        "mechanism": privacy.mechanism,
        "epsilon": privacy.promise.figure,
        "k": release.bound,
        "bounding": privacy.bounding,
        "total_pings": release.total_pings,
        **vars(published),
        "statement": json.dumps(write_statement(release, published, entries), sort_keys=True),
        "ledger_entry": spent.sequence,
        "ledger_entry_hash": spent.entry_hash,
        "rho": None if privacy.rho is None else str(privacy.rho),
        "delta": None if privacy.delta is None else str(privacy.delta),
        "series": release.config.series and release.config.series.name,
        "window_name": release.config.window,
        "supersedes": find_superseded(release.config),
    }
