"""The order of cells in files: every cell once, and neighbours in space and time close together."""

from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.grid import Box, Grid
from vdr_spark.release.cell_layout import SLICES, TILE, blocks_of


def grid_of(side: int, slices: int) -> Grid:
    return Grid(Box(0.0, 0.0, 1.0, 1.0), side, datetime(2020, 1, 7, tzinfo=UTC), 3600, slices)


@pytest.mark.parametrize(("side", "slices"), [(1, 1), (10, 3), (64, 8), (65, 9), (200, 20)])
def test_every_cell_is_in_one_block(side: int, slices: int) -> None:
    seen = np.zeros(grid_of(side, slices).shape, int)
    for block in blocks_of(grid_of(side, slices)):
        seen[block.index] += 1
        assert block.size <= TILE * TILE * SLICES
        places = block.places()
        assert all(len(axis) == block.size for axis in places)
        np.testing.assert_array_equal(np.flatnonzero(np.ones_like(seen[block.index])), np.arange(block.size))
        assert (places[0][0], places[1][0], places[2][0]) == tuple(axis.start for axis in block.index)
    assert (seen == 1).all()


def test_tiles_follow_a_z_order_curve_and_time_runs_within_a_tile() -> None:
    blocks = list(blocks_of(grid_of(4 * TILE, 2 * SLICES)))
    assert [block.slices.start for block in blocks[:4]] == [0, SLICES, 0, SLICES]
    tiles = [(block.rows.start // TILE, block.columns.start // TILE) for block in blocks[::2]]
    assert tiles[:8] == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3), (1, 2), (1, 3)]
    assert len(set(tiles)) == 16
