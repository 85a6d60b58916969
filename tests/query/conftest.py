"""Tiny releases whose answers can be worked out by hand."""

from collections.abc import Callable
from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.grid import Box, Grid
from vdr_spark.release.model import Release

MakeRelease = Callable[..., Release]


@pytest.fixture
def make_release() -> MakeRelease:
    """Builds a release over 0..1 degrees at the equator from 7 January 2020 on."""

    def make(
        counts: object,
        deviation: object = None,
        slice_seconds: int = 10_800,
        box: Box = Box(0.0, 0.0, 1.0, 1.0),
    ) -> Release:
        tensor = np.asarray(counts, dtype=np.float32)
        start = datetime(2020, 1, 7, tzinfo=UTC)
        grid = Grid(box, tensor.shape[1], start, slice_seconds, tensor.shape[0])
        spread = None if deviation is None else np.asarray(deviation, dtype=np.float32)
        return Release("hand-made", grid, tensor, spread, protected=True)

    return make
