"""The released series of a box: one number for every slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.grid import Box
from vdr_spark.query.coverage import cover_box

if TYPE_CHECKING:
    from vdr_spark.release.release import Release


def box_series(release: Release, box: Box) -> Floats:
    """Return the released pings of a box in every slice, cut cells by their covered share. (T,)"""
    rows, columns = cover_box(release.grid, box)
    layers = release.counts[:, rows.cells, columns.cells]
    return np.array([rows.shares @ layer.astype(np.float64) @ columns.shares for layer in layers])
