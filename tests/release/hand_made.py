"""Releases made in memory, with a promise that reads like a real one."""

from datetime import UTC, datetime
from fractions import Fraction

import numpy as np

from vdr_spark.grid import Box, Grid
from vdr_spark.release.cell_source import CellsInMemory
from vdr_spark.release.release import Release


def hand_made(
    counts: object,
    deviation: object = None,
    slice_seconds: int = 10_800,
    box: Box = Box(0.0, 0.0, 1.0, 1.0),
    start: datetime = datetime(2020, 1, 7, tzinfo=UTC),
    **fields: object,
) -> Release:
    """A release of (T, M, M) counts over a box, protected unless told otherwise."""
    tensor = np.asarray(counts, dtype=np.float32)
    promise = {
        "release_id": "hand-made",
        "protected": True,
        "epsilon": Fraction(6),
        "k": 160,
        "dataset": "nobody",
        "created": datetime(2020, 2, 1, 12, tzinfo=UTC),
        "model": "temporal+fusion",
        "statement": {"release_id": "hand-made"},
    }
    grid = Grid(box, tensor.shape[1], start, slice_seconds, tensor.shape[0])
    spread = None if deviation is None else np.asarray(deviation, dtype=np.float32)
    return Release(grid=grid, cells=CellsInMemory(tensor, spread), **(promise | fields))  # type: ignore[arg-type]
