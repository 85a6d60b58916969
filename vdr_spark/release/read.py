"""Reading a release back from its Delta tables as an object for Python, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from vdr_spark.arrays import Integers, Slices
from vdr_spark.errors import DamagedTable
from vdr_spark.grid import Box, Grid
from vdr_spark.release.choice import choose_release, no_release_yet
from vdr_spark.release.release import Release
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.delta_files import column_values, is_delta_table, read_batches, read_rows
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES, Table
from vdr_spark.sum_errors import Spread, SumErrors, Total

if TYPE_CHECKING:
    import pyarrow as pa

CellReader = Callable[[str, Grid], tuple[Slices, Slices | None]]
"""Reads counts and deviations of a release by its id."""

CELL_COLUMNS = ("slice", "y", "x", "count", "deviation")


def read_release(output: str, release_id: str | None = None, region: str | None = None) -> Release:
    """Return a release of an output folder: that of an id, that of a region, or the only one there is.

    Where several could be meant it is refused, with a list of them: see `vdr_spark.release.choice`.
    The folder may be a URI of an object store, with credentials in the environment variables that deltalake and
    fsspec know; that is untested. Memory holds the counts and deviations once, and a few batches.
    """
    row = choose_release(_release_rows(output), output, release_id, region)
    return build_release(row, OutputFolder.at(output), lambda chosen, grid: read_cells(output, chosen, grid))


def build_release(row: Mapping[str, Any], folder: OutputFolder, read: CellReader) -> Release:
    """Return the release of a row of `releases`, with its cells as `read` returns them."""
    chosen = row["release_id"]
    try:
        promise = _promise(row)
        grid = _grid(row)
    except (KeyError, ValueError, TypeError) as problem:
        raise DamagedTable(
            f"the row of release {chosen} in {folder.table(RELEASES.name)} must say what was promised, and lacks "
            f"it ({type(problem).__name__}: {problem}); restore the table's files"
        ) from None
    counts, deviation = read(chosen, grid)
    return Release(chosen, grid, counts, deviation, output=folder.root, tables=folder.schema, **promise)


def _promise(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a row of `releases` says of a release beside its cells."""
    names = ("protected", "k", "dataset", "created", "model", "region", "estimated_rmse")
    exact = {"epsilon": Fraction(row["epsilon"]), "statement": json.loads(row["statement"])}
    return {name: row[name] for name in names} | exact | {"sum_errors": _sum_errors(row)}


def _sum_errors(row: Mapping[str, Any]) -> SumErrors | None:
    if row["sum_errors"] is None:
        return None
    spreads = tuple(Spread(**of) for of in row["sum_errors"])
    total = None if row["released_total"] is None else Total(row["released_total"], row["total_deviation"])
    return SumErrors(row["noise_deviation"], spreads, row["sum_deviation"], total)


def _grid(row: Mapping[str, Any]) -> Grid:
    box = Box(row["south"], row["west"], row["north"], row["east"])
    return Grid(box, row["cells_per_side"], row["period_start"], row["slice_seconds"], row["slices"])


def read_cells(output: str, release_id: str, grid: Grid) -> tuple[Slices, Slices | None]:
    """Return counts and, where there are any, deviations of a release, each (T, M, M), published or about to be."""
    path = table_path(output, CELLS)
    batches = read_batches(path, CELL_COLUMNS, release_id=release_id)
    return assemble_cells(batches, path, release_id, grid)


def assemble_cells(
    batches: Iterable[pa.RecordBatch], table: Place, release_id: str, grid: Grid
) -> tuple[Slices, Slices | None]:
    """Put a release's rows of `cells` where they belong, whoever read them; refuse all but each cell once."""
    counts, deviation = (np.full(grid.size, np.nan, dtype=np.float32) for _ in range(2))
    rows = 0
    for batch in batches:
        try:
            cells = _flat_cells(batch, grid)
        except ValueError:  # a place outside the grid, or none
            break
        rows += len(cells)
        counts[cells] = column_values(batch, "count", np.float64)
        deviation[cells] = column_values(batch, "deviation", np.float64)
    if rows != grid.size or np.isnan(counts).any():  # as many rows as cells, and no cell without: each once
        raise DamagedTable(
            f"{table} must hold each of the {grid.size} cells of release {release_id} once, and "
            "does not; restore its files"
        )
    return counts.reshape(grid.shape), None if np.isnan(deviation).any() else deviation.reshape(grid.shape)


def _flat_cells(batch: pa.RecordBatch, grid: Grid) -> Integers:
    """Return the flat cell number `(slice * M + y) * M + x` of each row; `ValueError` where one lies outside."""
    axes = tuple(column_values(batch, name, np.int32) for name in ("slice", "y", "x"))
    flat: Integers = np.ravel_multi_index(axes, grid.shape)
    return flat


def table_path(output: str, table: Table) -> str:
    """Return the path of a table in an output folder: `cells` or `releases`."""
    return str(OutputFolder.at(output).table(table.name))


def _release_rows(output: str) -> list[dict[str, Any]]:
    """Return the rows of `releases`, moments in UTC."""
    path = table_path(output, RELEASES)
    if not is_delta_table(path):
        raise no_release_yet(output)
    return read_rows(path)
