"""The released series of a box: one number for every slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.grid import Box
from vdr_spark.query.coverage import cover_box

if TYPE_CHECKING:
    from vdr_spark.release.release import Release


def box_deviation(release: Release, box: Box) -> Floats | None:
    """Return one standard deviation of each of them; None where the release carries no error bars. (T,)"""
    rows, columns = cover_box(release.grid, box)
    layers = release.part((slice(None), rows.cells, columns.cells))[1]
    if layers is None:
        return None
    own = np.array([rows.shares**2 @ layer.astype(np.float64) ** 2 @ columns.shares**2 for layer in layers])
    if release.sum_errors is None:
        plain: Floats = np.sqrt(own)
        return plain
    cells = np.full(len(own), float(rows.shares.sum() * columns.shares.sum()))
    found: Floats = np.sqrt(release.sum_errors.variance(cells, np.ones(len(own)), box_series(release, box), own))
    return found


def box_series(release: Release, box: Box) -> Floats:
    """Return the released pings of a box in every slice, cut cells by their covered share. (T,)"""
    rows, columns = cover_box(release.grid, box)
    layers, _ = release.part((slice(None), rows.cells, columns.cells))
    return np.array([rows.shares @ layer.astype(np.float64) @ columns.shares for layer in layers])
