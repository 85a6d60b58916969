"""Reading a release back from its Delta tables as an object for Python, without Spark."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from vdr_spark.errors import DamagedTable
from vdr_spark.grid import Box, Grid
from vdr_spark.release.cell_source import CellSource
from vdr_spark.release.choice import choose_release, no_release_yet
from vdr_spark.release.release import Release
from vdr_spark.release.stored_cells import StoredCells
from vdr_spark.release.withdrawals import Withdrawals, read_withdrawals
from vdr_spark.storage.delta_files import find_schema_version, is_delta_table, read_rows
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, RELEASES, Table
from vdr_spark.sum_errors import Spread, SumErrors, Total

CellOpener = Callable[[str, Grid], CellSource]
"""Opens the cells of a release by its id."""


def read_release(
    output: str, release_id: str | None = None, region: str | None = None, allow_withdrawn: bool = False
) -> Release:
    """Return a release of an output folder: that of an id, that of a region, or the only one there is.

    Where several could be meant it is refused, with a list of them: see `vdr_spark.release.choice`. So is one that was
    withdrawn, unless `allow_withdrawn` says that somebody must look at it all the same.
    The folder may be a URI of an object store, with credentials in the environment variables that deltalake and
    fsspec know; that is untested. Cells are read when they are asked for, as far as a question needs them.
    """
    folder = OutputFolder.at(output)
    rows, gone = release_rows(folder), read_withdrawals(folder)
    row = choose_release(rows, output, release_id, region, None if allow_withdrawn else gone)
    return build_release(row, folder, lambda chosen, grid: open_cells(output, chosen, grid), gone)


def open_cells(output: str, release_id: str, grid: Grid) -> StoredCells:
    """Return the cells of a release in the files of an output folder's table, published or about to be."""
    path = table_path(output, CELLS)
    find_schema_version(path, CELLS)  # refuses one that is newer than we are
    return StoredCells(path, release_id, grid)


def build_release(
    row: Mapping[str, Any], folder: OutputFolder, open_source: CellOpener, withdrawals: Withdrawals
) -> Release:
    """Return the release of a row of `releases`, with its cells from where `open_source` finds them."""
    chosen = row["release_id"]
    with naming_what_lacks(row, folder):
        promise = _promise(row)
        grid = read_grid(row)
        promise["withdrawal"] = withdrawals.get(chosen)
    return Release(chosen, grid, open_source(chosen, grid), output=folder.root, tables=folder.schema, **promise)


@contextmanager
def naming_what_lacks(row: Mapping[str, Any], folder: OutputFolder) -> Iterator[None]:
    """Turn what Python says of a row of `releases` without its values into a sentence."""
    try:
        yield
    except (KeyError, ValueError, TypeError) as problem:
        raise DamagedTable(
            f"the row of release {row['release_id']} in {folder.table(RELEASES.name)} must say what was promised, and "
            f"lacks it ({type(problem).__name__}: {problem}); restore the table's files"
        ) from None


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
    return SumErrors(row["noise_deviation"], spreads, row["sum_deviation"] or 0.0, total)


def read_grid(row: Mapping[str, Any]) -> Grid:
    """Return the cells that a row of `releases` describes."""
    box = Box(row["south"], row["west"], row["north"], row["east"])
    return Grid(box, row["cells_per_side"], row["period_start"], row["slice_seconds"], row["slices"])


def table_path(output: str, table: Table) -> str:
    """Return the path of a table in an output folder: `cells` or `releases`."""
    return str(OutputFolder.at(output).table(table.name))


def release_rows(folder: OutputFolder) -> list[dict[str, Any]]:
    """Return the rows of `releases`, moments in UTC, withdrawn ones too; refused where there is no such table."""
    path = str(folder.table(RELEASES.name))
    if not is_delta_table(path):
        raise no_release_yet(folder.tables)
    return read_rows(path, RELEASES)
