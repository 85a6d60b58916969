"""A release as an object: the released cells with their grid and their promise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.grid import Grid


@dataclass(frozen=True)
class Release:
    """What was published. `counts` estimate the pings of all users; `deviation` is one standard deviation."""

    release_id: str
    grid: Grid
    counts: NDArray[np.float32]  # (T, M, M)
    deviation: NDArray[np.float32] | None  # (T, M, M), where the model gives one
    protected: bool
