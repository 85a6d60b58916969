"""Privelet: noise on Haar wavelet coefficients instead of on cells. Xiao, Wang, Gehrke 2010.

A coefficient says how much more the left half of an interval holds than the right half. A range is made of few of
them, so its variance is polylogarithmic in the number of cells, O(log^3 m) along each side, where that of noisy cells
grows with the range.

The paper weighs a coefficient c = (mean of the left half - mean of the right half) / 2 over 2^j cells by W = 2^j, and
gives it noise of scale rho / (epsilon W). W c is the difference of the halves' sums: that is what is measured here,
all with one scale. A cell is in one interval of each of log2 m lengths, and in the total, with weight 1 in each: rho
= 1 + log2 m along a side, and the product over both sides of a slice.

Budget: all of it in one question, per slice (the paper's Privelet+ leaves a short dimension, here time,
untransformed). Private, because the weighed coefficients of a slice change by rho in sum with one ping. Sides are
filled up with empty cells to a power of two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.baselines.account import Account
from vdr_spark.baselines.baseline import Counts, by_slices


@dataclass(frozen=True)
class Privelet:
    """Wavelets in two dimensions, slice by slice; unbiased."""

    name: ClassVar[str] = "privelet"

    def __call__(self, counts: Counts, account: Account) -> Slices:
        """Return the counts rebuilt from noisy coefficients. (T, M, M)"""
        return by_slices(_estimate_slice, counts, account)


def _estimate_slice(layer: Floats, account: Account) -> Floats:
    cells = len(layer)
    side = 1 << (cells - 1).bit_length()
    padded = np.zeros((side, side))
    padded[:cells, :cells] = layer
    coefficients = transform(transform(padded).T)
    noisy = account.measure(coefficients, account.left, sensitivity(side) ** 2)
    return invert(invert(noisy).T)[:cells, :cells]


def sensitivity(side: int) -> float:
    """Return rho: by how much one ping changes the weighed coefficients along a side, a power of two, in sum."""
    return float(side.bit_length())


def transform(values: Floats) -> Floats:
    """Return the total and all differences of halves, coarse ones first, along the last axis. (..., m) -> (..., m)"""
    sums, details = values, []
    while sums.shape[-1] > 1:
        left, right = sums[..., 0::2], sums[..., 1::2]
        details.append(left - right)
        sums = left + right
    return np.concatenate([sums, *reversed(details)], axis=-1)


def invert(coefficients: Floats) -> Floats:
    """Return the values again, along the last axis: halves are (sum + difference) / 2 and (sum - difference) / 2."""
    sums = coefficients[..., :1]
    while (length := sums.shape[-1]) < coefficients.shape[-1]:
        details = coefficients[..., length : 2 * length]
        sums = np.stack([sums + details, sums - details], axis=-1).reshape(*sums.shape[:-1], 2 * length) / 2
    return sums
