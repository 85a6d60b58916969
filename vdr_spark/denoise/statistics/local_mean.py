"""Gaussian means over the cells around a cell, with and without the cell itself, and how much noise is left in them."""

from __future__ import annotations

from functools import lru_cache
from typing import TypeVar

import numpy as np
from scipy.ndimage import gaussian_filter, gaussian_filter1d

from vdr_spark.arrays import Floats, Image

_Cells = TypeVar("_Cells", Image, Floats)


def local_mean(image: _Cells, width: float) -> _Cells:
    """Return the mean around every cell, itself included; the image itself at width 0. (M, M)"""
    mean: _Cells = gaussian_filter(image, width, mode="nearest") if width else image
    return mean


def wide_local_mean(image: Image, width: float) -> Image:
    """Return the same for widths of many cells: by two products of matrices, which is less work. (M, M)

    At the edges the image is mirrored. In `local_mean` the outermost cell stands for all cells beyond: of a wide mean
    its noise would be half.
    """
    if not width:
        return image
    rows, columns = (_mirrored_weights(side, width).astype(np.float32) for side in image.shape)
    return (rows @ image @ columns.T).astype(np.float32, copy=False)


def wide_local_mean_excluding_self(image: Image, width: float) -> Image:
    """Return the same, the cell itself left out. (M, M)"""
    share = _mirrored_share(image.shape, width)
    around: Image = ((wide_local_mean(image, width) - share * image) / (1 - share)).astype(np.float32)
    return around


def variance_of_wide_mean(shape: tuple[int, ...], width: float, with_self: bool = True) -> Floats:
    """Return the variance of such means, where that of a cell is 1. (M, M)"""
    squares: Floats = np.multiply.outer(*((_mirrored_weights(side, width) ** 2).sum(axis=1) for side in shape))
    if with_self:
        return squares
    share = _mirrored_share(shape, width)
    without: Floats = (squares - share**2) / (1 - share) ** 2
    return without


def _mirrored_share(shape: tuple[int, ...], width: float) -> Floats:
    share: Floats = np.multiply.outer(*(np.diag(_mirrored_weights(side, width)) for side in shape))
    return share


@lru_cache(maxsize=64)
def _mirrored_weights(side: int, width: float) -> Floats:
    """Return the weight of every cell of a row (columns) in the mean around every cell (rows). (M, M)"""
    weights: Floats = gaussian_filter1d(np.eye(side), width, axis=0, mode="reflect")
    return weights


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
