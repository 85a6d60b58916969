"""Sums over blocks of cells and slices: the scales between a cell and the whole."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Slices


@dataclass(frozen=True)
class Level:
    """Blocks of `side` x `side` cells over `slices` slices; those at the edges are smaller."""

    side: int
    slices: int

    def sums(self, tensor: NDArray[np.generic]) -> Floats:
        """Return the sum over every block. (T, M, M) -> (blocks of slices, blocks, blocks)"""
        found: Floats = np.asarray(tensor)
        for axis, step in enumerate((self.slices, self.side, self.side)):
            if step > 1:  # in double precision from the first sum on
                found = np.add.reduceat(found, np.arange(0, found.shape[axis], step), axis=axis, dtype=np.float64)
        return found.astype(np.float64, copy=False)

    def overlapping_sums(self, tensor: NDArray[np.generic]) -> Floats:
        """Return the sum over every block that begins at a multiple of half a side: four times as many, half new."""
        if self.side < 2:
            return self.sums(tensor)
        halves = Level(self.side // 2, self.slices).sums(tensor)
        rows = halves[:, :-1] + halves[:, 1:]
        both: Floats = rows[:, :, :-1] + rows[:, :, 1:]
        return both

    def spread(self, blocks: Floats, shape: tuple[int, ...], t: int) -> Slices:
        """Return the value of its block for every cell of slice t. (M, M)"""
        layer = blocks[t // self.slices].astype(np.float32)
        wide = np.repeat(layer, self.side, axis=0)[: shape[1]]
        cells: Slices = np.repeat(wide, self.side, axis=1)[:, : shape[2]]
        return cells
