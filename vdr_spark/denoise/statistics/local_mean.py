"""Gaussian means over the cells around a cell, with and without the cell itself, and how much noise is left in them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from vdr_spark.arrays import Floats, Image

_FINE_ENOUGH = 4.0  # blocks in a width: finer ones make no difference


def local_mean(image: Image, width: float) -> Image:
    """Return the mean around every cell, itself included; the image itself at width 0. (M, M)"""
    mean: Image = gaussian_filter(image, width, mode="nearest") if width else image
    return mean


def wide_local_mean(image: Image, width: float) -> Image:
    """Return about the same for widths of many cells, in a fraction of the time: from means over small blocks. (M, M)"""
    block = int(width // _FINE_ENOUGH)
    if block < 2 or min(image.shape) < 2 * block:
        return local_mean(image, width)
    starts = [np.arange(0, side, block) for side in image.shape]
    sums = np.add.reduceat(np.add.reduceat(image, starts[0], axis=0), starts[1], axis=1)
    sizes = np.multiply.outer(*(np.diff(np.append(of, side)) for of, side in zip(starts, image.shape, strict=True)))
    coarse = local_mean((sums / sizes).astype(np.float32), width / block)
    places = [(np.arange(side) - (block - 1) / 2) / block for side in image.shape]
    return _interpolate(_interpolate(coarse, places[0]).T, places[1]).T


def _interpolate(rows: Image, places: Floats) -> Image:
    """Return rows between rows, at places counted in rows; beyond the last one, the last. (R, C), (P,) -> (P, C)"""
    places = np.clip(places, 0, len(rows) - 1)
    below = np.minimum(places.astype(np.int64), max(0, len(rows) - 2))
    weight = (places - below).astype(np.float32)[:, None]
    between: Image = (1 - weight) * rows[below] + weight * rows[np.minimum(below + 1, len(rows) - 1)]
    return between


def local_mean_excluding_self(image: Image, width: float) -> Image:
    """Return the mean around every cell, itself left out: nothing of the cell's own noise is in it. (M, M)"""
    rows, columns = (_own_share(side, width) for side in image.shape)
    share = np.outer(rows, columns)
    around: Image = ((local_mean(image, width) - share * image) / (1 - share)).astype(np.float32)
    return around


@lru_cache(maxsize=64)
def remaining_variance(width: float, with_self: bool = True) -> float:
    """Return the variance of such a mean, where that of a cell is 1."""
    if not width:
        return 1.0
    side = 2 * int(4 * width + 0.5) + 3
    own = np.zeros((side, side), np.float32)
    own[side // 2, side // 2] = 1
    kernel = local_mean(own, width).astype(np.float64)
    if not with_self:
        kernel[side // 2, side // 2] = 0
    return float((kernel**2).sum() / kernel.sum() ** 2)


@lru_cache(maxsize=64)
def _own_share(side: int, width: float) -> Floats:
    """Return how much of a row's mean is the cell itself: more at the edge, where it stands for cells beyond. (M,)"""
    shares: Floats = np.diag(gaussian_filter1d(np.eye(side), width, axis=0, mode="nearest")).copy()
    return shares
