"""Fusion: a model's output is a prior for each cell, the cell's noisy count is evidence with exactly known noise.

The released value is the posterior mean, its error bar the posterior deviation. The prior of a cell with predicted
mean mu is a negative binomial around mu, mixed with a heavy tail p(n) ~ (n + 1)**-1.5, because unpredicted spikes
exist. Cells are sorted into bins by what the model predicts; in each bin the mean is calibrated to the noisy counts
(noise has mean zero), and dispersion and tail weight maximise the likelihood of the noisy counts. At peaks the
posterior follows the count, in empty country it follows the model.

The noise is discrete Laplace: P(y | n) ~ p**|y - n|. Below zero and above every possible n the factor p**|y| cancels,
so the posterior of y < 0 is that of y = 0, and a table over y = 0 .. n_max holds every answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.signal import lfilter
from scipy.special import gammaln

from vdr_spark.progress import Progress, Silent
from vdr_spark.tensor_file import Tensor

_BINS = 40  # of predicted means, equally wide in the logarithm
_LEAST_CELLS = 400  # in a bin; sparser ones are joined to their neighbour
_SMALLEST_MEAN = 1e-4  # predictions below are one bin
_DISPERSIONS = np.geomspace(0.02, 200, 13)  # r of the negative binomial; the last is as good as Poisson
_TAIL_WEIGHTS = np.array([0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1])
_TAIL_EXPONENT = -1.5
_LARGEST_TABLE = 1 << 16  # counts; noisy counts beyond are taken for what they are

Array = NDArray[np.float64]
Slices = NDArray[np.float32]


@dataclass(frozen=True)
class _Bins:
    """Bins of predicted means: the edges between them, and each one's calibrated mean."""

    edges: Array
    centres: Array  # log of the predicted mean, where interpolation looks
    means: Array

    def of(self, prior: Slices) -> NDArray[np.int64]:
        return np.searchsorted(self.edges, _log(prior))


def fuse(prior: Slices, noisy: Slices, scale: float, progress: Progress | None = None) -> Tensor:
    """Posterior means and deviations (T, M, M) from predicted means and noisy counts, both (T, M, M).

    `scale` is the noise's k / epsilon. The prediction of a cell should contain nothing of the cell's own noise; what
    little a compressing model such as the VQ-VAE lets through is neglected.
    """
    largest = int(min(_LARGEST_TABLE, max(8.0, float(noisy.max()))))
    with (progress or Silent()).task("denoise: fusion", len(noisy)) as update:
        bins = _calibrated_bins(prior, noisy)
        histogram = _histogram(bins, prior, noisy, largest)
        tables = [_posterior(mean, row, scale) for mean, row in zip(bins.means, histogram, strict=True)]
        means, deviations = (np.stack(part).astype(np.float32) for part in zip(*tables, strict=True))
        counts, deviation = np.empty_like(noisy), np.empty_like(noisy)
        for t in range(len(noisy)):
            lower, weight = _between(bins.centres, prior[t])
            y = _whole(noisy[t], largest)
            upper = np.minimum(lower + 1, len(bins.centres) - 1)
            counts[t] = (1 - weight) * means[lower, y] + weight * means[upper, y]
            deviation[t] = (1 - weight) * deviations[lower, y] + weight * deviations[upper, y]
            beyond = noisy[t] > largest
            counts[t][beyond], deviation[t][beyond] = noisy[t][beyond], math.sqrt(2) * scale
            update(t + 1, "")
    return Tensor(counts, deviation)


def _whole(noisy: Slices, largest: int) -> NDArray[np.int64]:
    """Noisy counts as places in the tables. Weighted pings give fractions, which are rounded to whole pings."""
    return np.rint(np.clip(noisy, 0, largest)).astype(np.int64)


def _log(prior: Slices) -> Slices:
    logs: Slices = np.log(np.maximum(prior, np.float32(_SMALLEST_MEAN)))
    return logs


def _calibrated_bins(prior: Slices, noisy: Slices) -> _Bins:
    """Equal steps of log prior, joined until each holds enough cells, means taken from the noisy counts."""
    top = max(float(_log(prior).max()), math.log(_SMALLEST_MEAN) + 1e-3)
    fine = np.linspace(math.log(_SMALLEST_MEAN) + 1e-6, top, _BINS)
    sums = np.zeros((3, _BINS + 1))  # cells, sum of log prior, sum of noisy counts
    for predicted, counts in zip(prior, noisy, strict=True):
        logs = _log(predicted).ravel()
        number = np.searchsorted(fine, logs)
        for row, weights in zip(sums, (None, logs, counts.ravel()), strict=True):
            row += np.bincount(number, weights=weights, minlength=_BINS + 1)
    groups = _joined(sums[0])
    cells, logs, counts = (np.array([row[group].sum() for group in groups]) for row in sums)
    # A larger prediction means a larger mean: pooling what contradicts that keeps small bins from following noise.
    rising = isotonic_regression(counts / cells, weights=cells).x
    means = np.maximum(rising, _SMALLEST_MEAN)
    edges = np.array([fine[group.stop - 1] for group in groups[:-1]])
    return _Bins(edges, logs / cells, means)


def _joined(cells: Array) -> list[slice]:
    """Neighbouring bins joined, from the top down, until each group holds enough cells."""
    groups, stop = [], len(cells)
    for begin in range(len(cells) - 1, -1, -1):
        if cells[begin:stop].sum() >= _LEAST_CELLS:
            groups.append(slice(begin, stop))
            stop = begin
    if not groups:
        return [slice(0, len(cells))]
    groups[-1] = slice(0, groups[-1].stop)  # what is left over at the bottom
    return groups[::-1]


def _histogram(bins: _Bins, prior: Slices, noisy: Slices, largest: int) -> Array:
    """How often each noisy count occurs in each bin. (bins, n_max + 1)"""
    width = largest + 1
    total = np.zeros(len(bins.means) * width)
    for predicted, counts in zip(prior, noisy, strict=True):
        y = _whole(counts, largest)
        total += np.bincount((bins.of(predicted) * width + y).ravel(), minlength=len(total))
    return total.reshape(-1, width)


def _posterior(mean: float, histogram: Array, scale: float) -> tuple[Array, Array]:
    """Posterior mean and deviation at every noisy count 0 .. n_max, under the likeliest prior of a bin."""
    n = np.arange(len(histogram), dtype=np.float64)
    decay = math.exp(-1 / scale)
    tail = (n + 1) ** _TAIL_EXPONENT
    tail /= tail.sum()
    best = _likeliest(mean, histogram, n, tail, decay)
    mass, first, second = (_convolved(best * n**power, decay) for power in range(3))
    mass = np.maximum(mass, np.finfo(float).tiny)
    posterior = first / mass
    return posterior, np.sqrt(np.maximum(second / mass - posterior**2, 0))


def _likeliest(mean: float, histogram: Array, n: Array, tail: Array, decay: float) -> Array:
    """The mixture of negative binomial and tail under which the bin's noisy counts are most probable."""
    seen = np.flatnonzero(histogram)
    weights = histogram[seen]
    smooth_tail = _convolved(tail, decay)[seen]
    best, best_score = tail, -np.inf
    for dispersion in _DISPERSIONS:
        prior = _negative_binomial(n, mean, dispersion)
        smooth = _convolved(prior, decay)[seen]
        for share in _TAIL_WEIGHTS:
            likelihood = np.maximum((1 - share) * smooth + share * smooth_tail, np.finfo(float).tiny)
            score = float(weights @ np.log(likelihood))
            if score > best_score:
                best, best_score = (1 - share) * prior + share * tail, score
    return best


def _negative_binomial(n: Array, mean: float, dispersion: float) -> Array:
    logs = (
        gammaln(n + dispersion)
        - gammaln(dispersion)
        - gammaln(n + 1)
        + dispersion * math.log(dispersion / (dispersion + mean))
        + n * math.log(mean / (dispersion + mean))
    )
    mass: Array = np.exp(logs)
    mass /= mass.sum()
    return mass


def _convolved(mass: Array, decay: float) -> Array:
    """sum over n of mass[n] * decay**|y - n|, for every y, by one sweep up and one down."""
    up = lfilter([1.0], [1.0, -decay], mass)
    down = lfilter([1.0], [1.0, -decay], mass[::-1])[::-1]
    both: Array = up + down - mass
    return both


def _between(centres: Array, prior: Slices) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """For each cell the bin whose centre lies below its prediction, and how far on the way to the next."""
    logs = _log(prior)
    lower = np.clip(np.searchsorted(centres, logs) - 1, 0, max(0, len(centres) - 2))
    if len(centres) == 1:
        return lower, np.zeros_like(logs)
    gap = np.maximum(centres[lower + 1] - centres[lower], 1e-9)
    return lower, np.clip((logs - centres[lower]) / gap, 0, 1).astype(np.float32)
