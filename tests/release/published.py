"""Tables of hand-made releases, written by delta-rs: as good as Spark's, and there in a moment."""

import json
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from vdr_spark.release.release import Release


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
        "slice_seconds": grid.slice_seconds,
        "slices": grid.slices,
        "cells_per_side": grid.cells_per_side,
        **vars(grid.box),
        "epsilon": str(release.epsilon),
        "k": release.k,
        "model": release.model,
        "estimated_rmse": release.estimated_rmse or 0.5,
        "noise_deviation": 3.0,
        "sum_errors": [{"side": 1, "slices": 1, "spread": 0.25, "clump": 3.0}],
        "released_total": 1000.0,
        "sum_deviation": 20.0,
        "total_deviation": 5.0,
        "statement": json.dumps(release.statement),
    }
