"""The cells of a release that are exported: those which a box and a period touch, wholly or in part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats, Image
from vdr_spark.grid import Box
from vdr_spark.query.coverage import cover_box, cover_period

if TYPE_CHECKING:
    from vdr_spark.release.release import Release


@dataclass(frozen=True)
class Tile:
    """A rectangle of cells of one slice, by their numbers in the release's grid."""

    number: int  # of the slice
    rows: range
    columns: range

    @property
    def index(self) -> tuple[int, slice, slice]:
        """Where it lies in a tensor (T, M, M)."""
        return self.number, slice(self.rows.start, self.rows.stop), slice(self.columns.start, self.columns.stop)

    @property
    def size(self) -> int:
        return len(self.rows) * len(self.columns)


@dataclass(frozen=True)
class Part:
    """Some slices, rows and columns of a release, by their numbers in its grid: all are whole cells."""

    release: Release
    slices: range
    rows: range
    columns: range

    @classmethod
    def of(cls, release: Release, box: Box | None, start: datetime | None, end: datetime | None) -> Part:
        """Choose the cells that a box and a period touch; None: no limit. What lies outside the grid is refused."""
        rows, columns = cover_box(release.grid, release.grid.box if box is None else box)
        _, _, slices = cover_period(release.grid, start, end)
        axes = (range(axis.cells.start, axis.cells.stop) for axis in (slices, rows, columns))
        return cls(release, *axes)

    @property
    def size(self) -> int:
        """How many cells there are in it."""
        return len(self.slices) * len(self.rows) * len(self.columns)

    @property
    def box(self) -> Box:
        """The outer edges of its cells."""
        lat, lon = self.latitude_edges(), self.longitude_edges()
        return Box(float(lat[0]), float(lon[0]), float(lat[-1]), float(lon[-1]))

    def latitude_edges(self) -> Floats:
        """Return the edges between rows from south to north, one more than rows; neighbours share theirs exactly."""
        grid = self.release.grid
        return _edges(grid.box.south, grid.box.north, grid.cells_per_side)[self.rows.start : self.rows.stop + 1]

    def longitude_edges(self) -> Floats:
        """Return the edges between columns from west to east, one more than columns."""
        grid = self.release.grid
        return _edges(grid.box.west, grid.box.east, grid.cells_per_side)[self.columns.start : self.columns.stop + 1]

    def image(self, number: int) -> Tile:
        """Return the cells of one slice."""
        return Tile(number, self.rows, self.columns)

    def tiles(self, side: int) -> Iterator[Tile]:
        """Cut it into tiles of at most `side` x `side` cells: by slice, from south to north, from west to east."""
        for number in self.slices:
            for rows in _blocks(self.rows, side):
                for columns in _blocks(self.columns, side):
                    yield Tile(number, rows, columns)

    def counts(self, tile: Tile) -> Image:
        """Return released pings of a tile, the southernmost row first."""
        return self.release.counts[tile.index]

    def deviation(self, tile: Tile) -> Image | None:
        """Return one standard deviation of each count, where the model gives one."""
        return None if self.release.deviation is None else self.release.deviation[tile.index]

    def name_slice(self, number: int) -> str:
        """Return when a slice begins, in the release's zone."""
        return self.release.grid.slice_start(number).astimezone(self.release.zone).isoformat(timespec="minutes")

    def __str__(self) -> str:
        grid = self.release.grid
        side = grid.cells_per_side
        axes = (("slices", self.slices, grid.slices), ("rows", self.rows, side), ("columns", self.columns, side))
        return ", ".join(f"{name} {axis.start} to {axis.stop - 1} of {of}" for name, axis, of in axes)


def _edges(low: float, high: float, cells: int) -> Floats:
    edges: Floats = low + np.arange(cells + 1, dtype=np.float64) * ((high - low) / cells)
    edges[-1] = high  # a product may round past it
    return edges


def _blocks(axis: range, side: int) -> Iterator[range]:
    for first in range(axis.start, axis.stop, side):
        yield range(first, min(first + side, axis.stop))
