"""Folds cut the grid into blocks, and what is elsewhere keeps its distance."""

import numpy as np
import pytest

from vdr_spark.denoise.statistics.folds import NUMBER, Folds

SIDES = [1, 2, 3, 5, 16, 30, 64, 200, 576]


@pytest.mark.parametrize("side", SIDES)
def test_every_cell_is_in_one_fold(side: int) -> None:
    folds = Folds(side)
    assert folds.of_cell.shape == (side, side)
    assert folds.of_cell.min() >= 0
    assert folds.of_cell.max() < NUMBER
    np.testing.assert_array_equal(folds.flat.reshape(side, side), folds.of_cell)


@pytest.mark.parametrize("side", SIDES)
def test_blocks_that_touch_by_a_side_are_in_different_folds(side: int) -> None:
    folds = Folds(side)
    border = np.arange(1, side) % folds.block == 0
    along_rows, along_columns = np.diff(folds.of_cell, axis=0) != 0, np.diff(folds.of_cell, axis=1) != 0
    np.testing.assert_array_equal(along_rows, np.broadcast_to(border[:, None], along_rows.shape))
    np.testing.assert_array_equal(along_columns, np.broadcast_to(border[None, :], along_columns.shape))


@pytest.mark.parametrize("side", [8, 16, 30, 64, 200, 576])
def test_all_folds_are_used_and_none_is_most_of_the_grid(side: int) -> None:
    shares = np.bincount(Folds(side).flat, minlength=NUMBER) / side**2
    assert shares.min() > 0.1
    assert shares.max() < 0.3


def test_blocks_are_wide_where_there_is_room() -> None:
    assert Folds(576).block == 48
    assert Folds(96).block == 16  # noise of a cell reaches that far
    assert Folds(8).block == 2


@pytest.mark.parametrize("distance", [0, 1, 3.5, 6])
def test_elsewhere_is_further_than_the_distance_from_every_cell_of_the_fold(distance: float) -> None:
    folds = Folds(30)
    rows, columns = np.mgrid[:30, :30]
    for fold in range(NUMBER):
        inside = np.argwhere(folds.of_cell == fold)
        away = np.full((30, 30), np.inf)
        for row, column in inside:
            away = np.minimum(away, np.maximum(abs(rows - row), abs(columns - column)))
        found = folds.elsewhere(fold, distance)
        np.testing.assert_array_equal(found, away > distance)
        assert found.any() == (away.max() > distance)


def test_a_grid_of_one_cell_has_nothing_elsewhere() -> None:
    assert not Folds(1).elsewhere(0, 0).any()
