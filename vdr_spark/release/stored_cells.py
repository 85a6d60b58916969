"""The cells of a release in the files of its table, read without Spark, and only as far as a question needs them.

Files and row groups that hold no cell of the part asked for are told by their statistics and skipped, in whatever
order a table has been written: one that another engine has rewritten is read as well, only not as fast.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from vdr_spark.arrays import Integers, Slices
from vdr_spark.arrow_columns import to_numbers
from vdr_spark.errors import DamagedTable
from vdr_spark.grid import Grid
from vdr_spark.release.cell_source import EVERYTHING, Part
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.delta_files import list_files, naming_damage, open_file

COLUMNS = ("slice", "y", "x", "count", "deviation")
_AXES = COLUMNS[:3]
_GROUPS_AT_ONCE = 8  # row groups that a thread holds


@dataclass(frozen=True)
class StoredCells:
    """The cells of one release in the Delta table at a path or URI."""

    path: str
    release_id: str
    grid: Grid

    def read(self, part: Part) -> tuple[Slices, Slices | None]:
        """Return a part of the counts and of the deviations; `DamagedTable` unless each of its cells is there once."""
        window = Window(self.grid, part)
        files = list_files(self.path, release_id=self.release_id)
        with naming_damage(self.path), ThreadPoolExecutor(os.cpu_count()) as pool:
            window.rows = sum(pool.map(lambda file: sum(map(window.put, _read_batches(file, window))), files))
        return window.tensors(self.path, self.release_id)


class Window:
    """A part of a tensor that is being put together from rows."""

    def __init__(self, grid: Grid, part: Part) -> None:
        self.ranges = [range(*axis.indices(size)) for axis, size in zip(part, grid.shape, strict=True)]
        self.rows = 0
        self._shape, self._misplaced = grid.shape, False
        self._counts, self._deviation = (np.full([*map(len, self.ranges)], np.nan, np.float32) for _ in range(2))

    def put(self, batch: pa.RecordBatch) -> int:
        """Put rows where they belong, those outside the part left out; return how many were inside."""
        axes = [to_numbers(batch.column(name), np.int32) for name in _AXES]
        inside = np.ones(batch.num_rows, bool)
        for axis, wanted, size in zip(axes, self.ranges, self._shape, strict=True):
            least, most = (axis.min(), axis.max()) if axis.size else (0, 0)
            self._misplaced |= bool(least < 0 or most >= size)  # outside the grid
            if least < wanted.start or most >= wanted.stop:
                inside &= (axis >= wanted.start) & (axis < wanted.stop)
        whole = inside.all()
        place = self._places([axis if whole else axis[inside] for axis in axes])
        for name, layer in (("count", self._counts), ("deviation", self._deviation)):
            values = to_numbers(batch.column(name), np.float32)
            layer.ravel()[place] = values if whole else values[inside]
        return len(place)

    def _places(self, axes: list[NDArray[np.int32]]) -> Integers:
        """Return where cells lie in the part, as numbers in its order."""
        flat = np.zeros(len(axes[0]), np.int64)
        for axis, wanted in zip(axes, self.ranges, strict=True):
            flat *= len(wanted)
            flat += axis
            flat -= wanted.start
        return flat

    def tensors(self, table: Place, release_id: str) -> tuple[Slices, Slices | None]:
        """Return what was put together; refuse all but each cell once."""
        if self._misplaced or self.rows != self._counts.size or np.isnan(self._counts).any():
            raise DamagedTable(
                f"{table} must hold each of the {self._counts.size} cells of release {release_id} once, and "
                "does not; restore its files"
            )
        return self._counts, None if np.isnan(self._deviation).any() else self._deviation


def assemble_cells(
    batches: Iterable[pa.RecordBatch], table: Place, release_id: str, grid: Grid
) -> tuple[Slices, Slices | None]:
    """Put a release's rows of `cells` where they belong, whoever read them; refuse all but each cell once."""
    window = Window(grid, EVERYTHING)
    with naming_damage(str(table)):
        window.rows = sum(map(window.put, batches))
    return window.tensors(table, release_id)


def _read_batches(file: str, window: Window) -> Iterator[pa.RecordBatch]:
    with open_file(file) as parquet:
        groups = [number for number in range(parquet.num_row_groups) if _may_hold(parquet, number, window)]
        for first in range(0, len(groups), _GROUPS_AT_ONCE):
            some = groups[first : first + _GROUPS_AT_ONCE]
            yield from parquet.read_row_groups(some, columns=list(COLUMNS), use_threads=False).to_batches()


def _may_hold(parquet: pq.ParquetFile, number: int, window: Window) -> bool:
    """Whether a row group may hold cells of the part, as far as its statistics tell."""
    group = parquet.metadata.row_group(number)
    places = {group.column(place).path_in_schema: place for place in range(group.num_columns)}
    for name, wanted in zip(_AXES, window.ranges, strict=True):
        found = group.column(places[name]).statistics
        if found is not None and found.has_min_max and (found.max < wanted.start or found.min >= wanted.stop):
            return False
    return True
