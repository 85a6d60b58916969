"""A few pings whose counts can be told by hand, and a small generated city."""

from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.experiments.location_data import Data
from vdr_spark.experiments.places import Place
from vdr_spark.grid import Box, Grid

SMALL = Place(preset="demo", cells=24, days=2, pings=40_000)


@pytest.fixture(scope="session")
def city() -> Data:
    return SMALL.load()


@pytest.fixture
def few() -> Data:
    """Two slices of 2 x 2 cells: user 0 has four pings in cell 1, user 1 one in cell 6."""
    grid = Grid(Box.around(0.0, 0.0, 1000), 2, datetime(2020, 1, 1, tzinfo=UTC), 3600, 2)
    return Data(grid, np.array([1, 1, 1, 6, 1]), np.array([0, 0, 0, 1, 0]))
