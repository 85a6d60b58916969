"""Folds of cells for cross-fitting: what predicts a cell was fitted on cells that lie elsewhere.

Weights that are fitted to noisy counts follow the noise of the counts they were fitted on, a little. Over millions of
empty cells that little adds up: predictions lean towards each cell's own noise, and the sum of the release is wrong by
as much. So every cell belongs to a fold, and its weights come from the cells of the other folds. Folds are made of
blocks, because what is near a cell is correlated with it, and laid out so that no two blocks that touch by a side belong
together.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.ndimage import distance_transform_cdt

from vdr_spark.arrays import Integers, Mask

NUMBER = 5
_LEAST_BLOCK = 16  # cells along a side
_BLOCKS = 12  # along a side of the grid, where there is room
_FEWEST_BLOCKS = 4  # along a side of a small grid


class Folds:
    """The folds of a grid of M x M cells."""

    def __init__(self, side: int) -> None:
        self.block = max(side // _BLOCKS, min(_LEAST_BLOCK, -(-side // _FEWEST_BLOCKS)))
        blocks = np.arange(side, dtype=np.int64) // self.block
        self.of_cell: Integers = (blocks[:, None] + 2 * blocks[None, :]) % NUMBER
        """The fold of every cell. (M, M)"""

    @cached_property
    def flat(self) -> Integers:
        """The fold of every cell. (M*M,)"""
        return self.of_cell.ravel()

    def elsewhere(self, fold: int, distance: float) -> Mask:
        """Return the cells that lie further than `distance` cells, along either axis, from all of a fold. (M, M)"""
        away = distance_transform_cdt(self.of_cell != fold, metric="chessboard")
        outside: Mask = away > distance
        return outside
