"""Bins of predicted means, each calibrated to the noisy counts in it: the noise has mean zero.

Fine bins of equal steps in the logarithm are joined until the noise of each one's mean is small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from vdr_spark.arrays import Floats, Image, Integers, Slices

FINE_BINS = 40  # of predicted means, equally wide in the logarithm
LEAST_CELLS = 400  # in a bin; sparser ones are joined to the next
_LARGEST_NOISE = 0.2  # of a bin's mean, relative to it
_SMALLEST_MEAN = 1e-4  # predictions below are one bin
BELOW = (0.01, 0.1)  # of the lowest bin's mean: where further points lie
_LEAST_MEAN = 1e-6  # that a cell is ever expected to hold
_ROUNDS = 10  # of making the sums of bins right


@dataclass(frozen=True)
class Between:
    """Where predictions lie: the bins on both sides, and how far on the way from the lower to the upper."""

    lower: Integers
    upper: Integers
    weight: Image

    def interpolate(self, table: NDArray[Any], places: Integers | None = None) -> Image:
        """Return what a table over bins, or over bins and places, says at the predictions."""
        below, above = (self.lower, self.upper) if places is None else ((self.lower, places), (self.upper, places))
        values: Image = ((1 - self.weight) * table[below] + self.weight * table[above]).astype(np.float32)
        return values


@dataclass(frozen=True)
class Bins:
    """Bins of predicted means: the edges between them, and each one's calibrated mean.

    Below the lowest bin lie further points without cells of their own, `BELOW` it: what is predicted to be far emptier
    than a bin's mean cell, as a whole slice may be at night, is not given that mean.
    """

    edges: Floats
    centres: Floats  # mean prediction in each, in pings: between them everything is interpolated
    means: Floats

    def of(self, prior: Image) -> Integers:
        """Return the bin of every prediction."""
        return np.searchsorted(self.edges, log_of(prior)) + len(BELOW)

    def between(self, prior: Image) -> Between:
        """Return where predictions lie between the bins."""
        upper = np.clip(np.searchsorted(self.centres, prior), min(1, len(self.centres) - 1), len(self.centres) - 1)
        lower = np.maximum(upper - 1, 0)
        # Along the prediction, not its logarithm: of two bins far apart the upper one would lift all between them.
        gap = np.maximum(self.centres[upper] - self.centres[lower], 1e-9)
        weight = np.clip((prior - self.centres[lower]) / gap, 0, 1).astype(np.float32)
        return Between(lower, upper, weight)


def log_of(prior: Image) -> Image:
    logs: Image = np.log(np.maximum(prior, np.float32(_SMALLEST_MEAN)))
    return logs


def fine_bins(prior: Slices) -> Floats:
    """Return edges of equal steps in the logarithm of predictions."""
    top = max(float(log_of(prior.max())), math.log(_SMALLEST_MEAN) + 1e-3)
    return np.linspace(math.log(_SMALLEST_MEAN) + 1e-6, top, FINE_BINS)


def sums_by_bin(grid: Floats, prior: Image, noisy: Image) -> Floats:
    """Return cells, and sums of prior and noisy counts, in each fine bin. (3, bins)"""
    number = np.searchsorted(grid, log_of(prior))
    return np.stack([np.bincount(number, weights, minlength=FINE_BINS + 1) for weights in (None, prior, noisy)])


def calibrate_bins(grid: Floats, sums: Floats, noise_variance: float, own_noise: Floats | None = None) -> Bins:
    """Join fine bins until the noise of each one's mean is small, and take their means from the noisy counts."""
    own_noise = np.zeros_like(sums[0]) if own_noise is None else own_noise
    groups = _join_sparse(sums, noise_variance, own_noise)
    rows = (sums[0], sums[1], sums[2] - own_noise)
    cells, predicted, counts = (np.array([row[group].sum() for group in groups]) for row in rows)
    cells = np.maximum(cells, 1)
    # A larger prediction means a larger mean: pooling what contradicts that keeps small bins from following noise.
    rising = isotonic_regression(counts / cells, weights=cells).x
    means = np.maximum(rising, _SMALLEST_MEAN)
    edges = np.array([grid[group.stop - 1] for group in groups[:-1]])
    centres, means = (np.append(np.multiply(BELOW, of[0]), of) for of in (predicted / cells, means))
    return _keep_sums(Bins(edges, centres, means), groups, sums[0], sums[1])


def _keep_sums(bins: Bins, groups: list[slice], cells: Floats, predicted: Floats) -> Bins:
    """Change the means so that what is interpolated between them has, in every bin, the mean that it should have."""
    target, means = bins.means[len(BELOW) :], bins.means
    between = bins.between((predicted / np.maximum(cells, 1)).astype(np.float32))
    for _ in range(_ROUNDS):
        values = cells * between.interpolate(means)
        found = np.array([values[group].sum() / max(1, cells[group].sum()) for group in groups])
        factors = np.clip(target / np.maximum(found, _SMALLEST_MEAN), 0.5, 2)
        means = np.maximum(means * np.append(np.full(len(BELOW), factors[0]), factors), _LEAST_MEAN)
    weights = np.array([1.0 for _ in BELOW] + [max(1.0, float(cells[group].sum())) for group in groups])
    return replace(bins, means=isotonic_regression(means, weights=weights).x)


def _join_sparse(sums: Floats, noise_variance: float, own_noise: Floats) -> list[slice]:
    """Join adjacent bins, from the top down, until each group holds enough cells to tell its mean from noise.

    Means below zero are cut off, so in bins that are mostly noise the noise would become pings. And where cells lie in
    a bin because of their own noise, their counts are not what the posterior takes them for.
    """
    (cells, predicted, _), groups, stop = sums, [], sums.shape[1]
    counts = sums[2] - own_noise
    for begin in range(len(cells) - 1, -1, -1):
        number, total = cells[begin:stop].sum(), predicted[begin:stop].sum()
        told = noise_variance * number <= (_LARGEST_NOISE * total) ** 2
        held = own_noise[begin:stop].sum()
        if number >= LEAST_CELLS and told and (held <= 0 or held <= _LARGEST_NOISE * counts[begin:stop].sum()):
            groups.append(slice(begin, stop))
            stop = begin
    if not groups:
        return [slice(0, len(cells))]
    groups[-1] = slice(0, groups[-1].stop)  # what is left over at the bottom
    return groups[::-1]
