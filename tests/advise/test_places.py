"""Places: assumed ones are as a city's, released ones are those of the tensor."""

from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.advise.places import CELLS_ASKED, released_places, typical_places
from vdr_spark.grid import Box, Grid

GRID = Grid(Box.around(29.76, -95.37, 6400), 64, datetime(2020, 1, 7, tzinfo=UTC), 3600, 4)


def test_squares_have_so_many_cells() -> None:
    sides = np.maximum(np.rint(np.random.default_rng(1).uniform(1, 4, 100_000)), 1)
    assert np.mean(sides**2) == pytest.approx(CELLS_ASKED, rel=0.01)


def test_finer_cells_hold_less() -> None:
    coarse, fine = typical_places(144), typical_places(576)
    assert np.median(coarse.shares) == pytest.approx(16 * np.median(fine.shares))
    assert (coarse.divisors(1000.0) >= 1.0).all()  # psi is 0.1 % of a slice


def test_released_places_are_those_of_the_tensor() -> None:
    tensor = np.zeros(GRID.shape)
    tensor[:, :32] = 5.0  # half of the box, evenly: a square of 7 cells holds 7 / 2048 of a slice
    tensor[:, 40, 40] = -3.0  # noise below zero is no place
    found = released_places(tensor, GRID, 64, GRID.box.side_metres[0])
    assert np.mean(found.shares) == pytest.approx(CELLS_ASKED / (32 * 64), rel=0.05)
    finer = released_places(tensor, GRID, 128, GRID.box.side_metres[0])
    assert np.mean(finer.shares) == pytest.approx(np.mean(found.shares) / 4)
