"""Tables of hand-made releases, written by delta-rs: as good as Spark's, and there in a moment."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from vdr_spark.pyramid import days_of
from vdr_spark.release.pyramid_files import blocks_of_level
from vdr_spark.release.pyramid_sums import block_rows, sum_levels
from vdr_spark.release.release import Release
from vdr_spark.sum_errors import Spread, SumErrors, Total


def write_tables(output: Path | str, *releases: Release) -> None:
    """Add releases to the tables `cells` and `releases` of a folder with a name that delta-rs understands."""
    for release in releases:
        cells = pa.Table.from_pandas(release.to_pandas(), preserve_index=False)
        for name, value in (("release_id", release.release_id), ("protected", release.protected)):
            cells = cells.append_column(name, pa.array([value] * len(cells)))
        write(output, "cells", cells, partition_by=["release_id"])
        write(output, "releases", pa.Table.from_pylist([release_row(release)]))


def write(output: Path | str, name: str, table: pa.Table, **options: object) -> None:
    """Append to a table."""
    write_deltalake(f"{output}/tables/{name}", table, mode="append", **options)  # type: ignore[call-overload]


def release_row(release: Release) -> dict[str, object]:
    """The columns of `releases` that a reader needs."""
    grid = release.grid
    return {
        "release_id": release.release_id,
        "region": release.region or "",
        "dataset": release.dataset,
        "created": release.created,
        "protected": release.protected,
        "period_start": grid.start,
        "period_end": grid.end,
        "slice_seconds": grid.slice_seconds,
        "slices": grid.slices,
        "cells_per_side": grid.cells_per_side,
        **vars(grid.box),
        "epsilon": str(release.epsilon),
        "k": release.k,
        "model": release.model,
        "estimated_rmse": release.estimated_rmse or 0.5,
        **errors_row(release.sum_errors or SumErrors(3.0, (Spread(1, 1, 0.25, 3.0),), 20.0, Total(1000.0, 5.0))),
        "statement": json.dumps(release.statement),
    }


def errors_row(errors: SumErrors) -> dict[str, object]:
    """The columns of `releases` that tell the errors of sums."""
    total = errors.total
    return {
        "noise_deviation": errors.noise_deviation,
        "sum_errors": [asdict(of) for of in errors.spreads],
        "released_total": None if total is None else total.pings,
        "sum_deviation": errors.sum_deviation,
        "total_deviation": None if total is None else total.deviation,
    }


def write_pyramid(output: Path | str, release: Release) -> None:
    """Add the sums of a release to the table `pyramid`, days and all."""
    levels = list(sum_levels(release.counts, release.deviation, days_of(release.grid, release.zone)))
    for level in levels:
        rows = pa.Table.from_batches(
            block_rows(level, block, release.grid, release.sum_errors, release.protected)
            for block in blocks_of_level(level)
        )
        rows = rows.append_column("release_id", pa.array([release.release_id] * len(rows)))
        write(output, "pyramid", rows, partition_by=["release_id"])


def withdraw(output: Path | str, release_id: str) -> None:
    """Mark a release as withdrawn."""
    now = datetime(2020, 3, 1, tzinfo=UTC)
    row = {"release_id": release_id, "withdrawn_at": now, "reason": "a test", "code_version": "0"}
    write(output, "withdrawals", pa.Table.from_pylist([row]))
