"""Sums over blocks of a slice, and how a block's sum is spread over its cells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Integers


def cut_evenly(cells: int, parts: int) -> Integers:
    """Return the edges of parts of a side that differ by at most a cell. (parts + 1,)

    Part i begins at i * cells // parts, so cutting into twice as many parts cuts each part in two: cuts are nested.
    """
    return np.arange(parts + 1, dtype=np.int64) * cells // parts


def sum_blocks(layer: NDArray[Any], rows: Integers, columns: Integers) -> Floats:
    """Return the sums over the blocks between edges, none of them empty. (H, W) -> (R, C)"""
    by_row = np.add.reduceat(layer.astype(np.float64, copy=False), rows[:-1], axis=0)
    sums: Floats = np.add.reduceat(by_row, columns[:-1], axis=1)
    return sums


def repeat_blocks(values: NDArray[Any], rows: Integers, columns: Integers) -> NDArray[Any]:
    """Return the value of its block for every cell. (R, C) -> (H, W)"""
    repeated: NDArray[Any] = np.repeat(np.repeat(values, np.diff(rows), axis=0), np.diff(columns), axis=1)
    return repeated


def spread_blocks(sums: Floats, rows: Integers, columns: Integers) -> Floats:
    """Return each block's sum divided evenly among its cells. (R, C) -> (H, W)"""
    areas = np.outer(np.diff(rows), np.diff(columns))
    return repeat_blocks(sums / areas, rows, columns)
