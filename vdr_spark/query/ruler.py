"""How far cells are apart: in metres over ground, in slices over time, and in cells, one slice as one cell.

The paper's grid treats its three axes alike, so a distance in cells is sqrt(dy^2 + dx^2 + dt^2). Cells that are not
quite square are measured in metres first and divided by the side of a square of their area.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers
from vdr_spark.grid import Grid

DIGITS = 6  # of a distance in cells: equally far cells must not be told apart by the last bit


@dataclass(frozen=True)
class Ruler:
    """Height and width of a cell in metres."""

    height: float
    width: float

    @classmethod
    def of(cls, grid: Grid) -> Ruler:
        return cls(*grid.cell_metres)

    @property
    def side(self) -> float:
        """The side of a square as large as a cell, in metres."""
        return math.sqrt(self.height * self.width)

    def positions(self, cells: Integers) -> Floats:
        """Return where (slice, row, column) are, in cells along each axis. (n, 3) -> (n, 3)"""
        found: Floats = cells * np.array([1.0, self.height / self.side, self.width / self.side])
        return found

    def metres(self, one: Integers, other: Integers) -> Floats:
        """Return the distances over ground between (slice, row, column) and others. (n, 3), (n, 3) -> (n,)"""
        apart = (one - other)[:, 1:] * np.array([self.height, self.width])
        found: Floats = np.round(np.hypot(*apart.T), 3)  # to the millimetre, for the same reason
        return found


@dataclass(frozen=True)
class Ball:
    """The cells around a cell, nearest first: by how much slice, row and column differ (K, 3), and how far. (K,)"""

    offsets: Integers
    distance: Floats  # cells
    reach: float  # cells: how far one can get at all within the extent and the slices

    @classmethod
    def of(cls, ruler: Ruler, radius: float, extent_m: float, slices: int) -> Ball:
        """Return those within `radius` cells in space and time, and within `extent_m` metres over ground."""
        reach = math.hypot(extent_m / ruler.side, slices - 1)
        far = min(radius, reach)
        ground = min(far * ruler.side, extent_m)
        sides = (min(far, slices - 1), ground / ruler.height, ground / ruler.width)
        axes = [np.arange(-math.floor(side), math.floor(side) + 1) for side in sides]
        offsets = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
        offsets = offsets[ruler.metres(offsets, np.zeros_like(offsets)) <= extent_m]
        distance = np.round(np.sqrt(np.square(ruler.positions(offsets)).sum(axis=1)), DIGITS)
        order = np.argsort(distance, kind="stable")
        order = order[: np.searchsorted(distance[order], far, side="right")]
        return cls(offsets[order], distance[order], reach)
