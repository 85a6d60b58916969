"""Fusion: a model's output is a prior for each cell, the cell's noisy count is evidence with exactly known noise.

The released value is the posterior mean, its error bar the posterior deviation. The prior of a cell with predicted
mean mu is a negative binomial around mu, mixed with a heavy tail p(n) ~ (n + 1)**-1.5, because unpredicted spikes
exist. Cells are sorted into bins by what the model predicts, and into classes by how volatile they are; in each bin
the mean is calibrated to the noisy counts (noise has mean zero), and dispersion and tail weight maximise the likelihood
of the noisy counts. At peaks the posterior follows the count, in empty country it follows the model.

The prediction of a cell should contain nothing of the cell's own noise. Of a model that looks at the cell, such as the
VQ-VAE, an `OwnNoise` tells how much of it is in each bin: it is no part of the mean, and bins of much of it are joined.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Image, Integers, Mask, Slices
from vdr_spark.denoise.estimation.bins import (
    BELOW,
    FINE_BINS,
    LEAST_CELLS,
    Bins,
    calibrate_bins,
    fine_bins,
    log_of,
    sums_by_bin,
)
from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial
from vdr_spark.denoise.estimation.own_noise import OwnNoise
from vdr_spark.denoise.estimation.posteriors import Posteriors
from vdr_spark.denoise.statistics import surroundings as surroundings_module
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.subsets import LeaveOneOut, evenly_spaced
from vdr_spark.denoise.statistics.surroundings import Surroundings
from vdr_spark.denoise.statistics.volatility import Volatility
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import Progress
from vdr_spark.storage.tensor_file import Tensor

_DISPERSIONS = np.geomspace(0.02, 200, 13)  # r of the negative binomial; the last is as good as Poisson
_TAIL_WEIGHTS = np.array([1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1])

_BUSY = surroundings_module.NUMBER - 1  # the last class of surroundings
_CLASSES = 5  # of busy cells by volatility, equally many
_FEWEST_SLICES = 4  # that show which cells are volatile
_SLICES_FOR_CLASSES = 8  # the edges between classes need no more


def fuse(prior: Slices, noisy: Slices, noise: Noise, progress: Progress | None = None) -> Tensor:
    """Return posterior means and deviations, and the calibrated prior; everything is (T, M, M)."""
    return Fusion.fit(prior, noisy, noise).apply(prior, noisy, progress)


class Fusion(Posteriors):
    """What was fitted on one tensor: for each class of cells, posteriors by prediction and noisy count."""

    def __init__(self, classes: _Classes, fits: list[_Fit], axis: Axis, noise: Noise) -> None:
        self._classes, self._fits, self._axis, self._noise = classes, fits, axis, noise

    @classmethod
    def fit(cls, prior: Slices, noisy: Slices, noise: Noise, listening: OwnNoise | None = None) -> Fusion:
        """Fit bins, classes and priors to predicted means and noisy counts, (T, M, M) each; None: a blind prior."""
        axis, classes = Axis.of(noisy, noise), _Classes.of(prior, noisy, noise)
        sums, grid = np.zeros((classes.number, 3, FINE_BINS + 1)), classes.grid
        own_noise = np.zeros((classes.number, FINE_BINS + 1))
        members = [classes.of_slice(t, prior[t]) for t in range(len(noisy))]
        for t, of_slice in enumerate(members):
            for which in range(classes.number):
                sums[which] += sums_by_bin(grid, prior[t][of_slice == which], noisy[t][of_slice == which])
            if listening is not None:
                bins_of = partial(classes.fine_bins, t)
                own_noise += listening.in_bins(t, bins_of, prior[t], own_noise.size).reshape(own_noise.shape)
        fits = []
        for which in range(classes.number):
            bins = calibrate_bins(grid, sums[which], noise.variance, own_noise[which])
            histogram = np.zeros((len(bins.means), axis.size))
            for t, of_slice in enumerate(members):
                cells = of_slice == which
                _add_to_histogram(histogram, bins.of(prior[t][cells]), axis.places(noisy[t][cells]))
            fits.append(_Fit.of(bins, histogram, axis))
        return cls(classes, fits, axis, noise)

    def posterior(self, t: int, prior: Image, noisy: Image) -> tuple[Image, Image]:
        mean, deviation, places = np.empty_like(noisy), np.empty_like(noisy), self._axis.places(noisy)
        for fit, cells in self._by_class(t, prior):
            between = fit.bins.between(prior[cells])
            mean[cells] = between.interpolate(fit.means, places[cells])
            deviation[cells] = between.interpolate(fit.deviations, places[cells])
        beyond = self._axis.is_beyond(noisy)
        mean[beyond], deviation[beyond] = noisy[beyond], self._noise.deviation
        return mean, deviation

    def calibrated_prior(self, t: int, prior: Image) -> tuple[Image, Image]:
        mean, deviation = np.empty_like(prior), np.empty_like(prior)
        for fit, cells in self._by_class(t, prior):
            between = fit.bins.between(prior[cells])
            mean[cells] = between.interpolate(fit.bins.means)
            deviation[cells] = between.interpolate(fit.prior_deviations)
        return mean, deviation

    def populated(self, t: int) -> Mask:
        return self._classes.surroundings.of(t) > 0

    def _by_class(self, t: int, prior: Image) -> Iterator[tuple[_Fit, Mask]]:
        classes = self._classes.of_slice(t, prior)
        for which, fit in enumerate(self._fits):
            yield fit, classes == which


@dataclass(frozen=True)
class _Classes:
    """Cells by their surroundings; busy ones also by how volatile they are among cells with the same prediction."""

    grid: Floats  # of predictions, as logarithms
    edges: Floats  # of volatility, in every bin of the grid; (bins, classes of busy cells - 1)
    surroundings: Surroundings
    volatility: Volatility | None

    @classmethod
    def of(cls, prior: Slices, noisy: Slices, noise: Noise) -> _Classes:
        grid, others = fine_bins(prior), LeaveOneOut(noisy, estimate_activity(noisy, noise.variance))
        surroundings = Surroundings(noisy, noise.variance, others)
        if len(noisy) < _FEWEST_SLICES:
            return cls(grid, np.empty((FINE_BINS + 1, 0)), surroundings, None)
        volatility = Volatility(noisy, noise.variance, others)
        some = evenly_spaced(len(noisy), _SLICES_FOR_CLASSES)
        busy = [surroundings.of(t) == _BUSY for t in some]
        bins = np.concatenate([np.searchsorted(grid, log_of(prior[t][at])) for t, at in zip(some, busy, strict=True)])
        values = np.concatenate([volatility.of(t)[at] for t, at in zip(some, busy, strict=True)])
        order = np.argsort(bins, kind="stable")
        parts = np.split(values[order], np.cumsum(np.bincount(bins, minlength=FINE_BINS + 1))[:-1])
        shares = np.arange(1, _CLASSES) / _CLASSES
        # A bin of few cells is one class: all of it lies below the first edge.
        enough = _CLASSES * LEAST_CELLS * len(some) / len(noisy)
        rows = [np.quantile(part, shares) if len(part) >= enough else np.full(len(shares), np.inf) for part in parts]
        return cls(grid, np.stack(rows), surroundings, volatility)

    @property
    def number(self) -> int:
        return _BUSY + int(self.edges.shape[1]) + 1

    def of_slice(self, t: int, prior: Image) -> NDArray[np.int8]:
        """Return the class of each cell of slice t. (M, M)"""
        classes = self.surroundings.of(t).copy()
        if self.volatility is not None:
            busy = classes == _BUSY
            values, bins = self.volatility.of(t)[busy], np.searchsorted(self.grid, log_of(prior[busy]))
            for edges in self.edges.T:
                classes[busy] += values > edges[bins]
        return classes

    def fine_bins(self, t: int, prior: Image) -> Integers:
        """Return the class of each cell of slice t together with its fine bin. (M, M)"""
        return self.of_slice(t, prior).astype(np.int64) * (FINE_BINS + 1) + np.searchsorted(self.grid, log_of(prior))


@dataclass(frozen=True)
class _Fit:
    """One class: its bins of predictions, and what follows in each of them from every noisy count."""

    bins: Bins
    means: Image  # posterior, in pings, at every place of the axis; (bins, places)
    deviations: Image
    prior_deviations: Floats  # (bins,)

    @classmethod
    def of(cls, bins: Bins, histogram: Floats, axis: Axis) -> _Fit:
        lowest = _likeliest_shape(bins.means[len(BELOW)] / axis.step, histogram[len(BELOW)], axis)
        shapes = [lowest for _ in BELOW] + [
            _likeliest_shape(mean / axis.step, row, axis)
            for mean, row in zip(bins.means[len(BELOW) :], histogram[len(BELOW) :], strict=True)
        ]
        tables = [_posterior(mean / axis.step, shape, axis) for mean, shape in zip(bins.means, shapes, strict=True)]
        means, deviations, spreads = (np.stack(part) * axis.step for part in zip(*tables, strict=True))
        return cls(bins, means.astype(np.float32), deviations.astype(np.float32), spreads)


def _add_to_histogram(histogram: Floats, bins: Integers, places: Integers) -> None:
    """Add how often each place occurs in each bin. (bins, places)"""
    flat = bins * histogram.shape[1] + places
    histogram += np.bincount(flat, minlength=histogram.size).reshape(histogram.shape)


def _posterior(mean: float, shape: tuple[float, float], axis: Axis) -> tuple[Floats, Floats, float]:
    """Return posterior mean and deviation at every place, and the prior's deviation, by dispersion and tail weight."""
    n, (dispersion, share) = axis.n, shape
    prior: Floats = (1 - share) * negative_binomial(n, mean, dispersion) + share * heavy_tail(n)
    moments: Floats = prior * n ** np.arange(3)[:, None]
    mass, first, second = axis.marginal(moments)
    mass = np.maximum(mass, np.finfo(float).tiny)
    posterior = first / mass
    spread = math.sqrt(max(0.0, float(prior @ n**2 - (prior @ n) ** 2)))
    return posterior, np.sqrt(np.maximum(second / mass - posterior**2, 0)), spread


def _likeliest_shape(mean: float, histogram: Floats, axis: Axis) -> tuple[float, float]:
    """Return dispersion and tail weight under which the bin's noisy counts are most probable."""
    occurring = np.flatnonzero(histogram)
    weights, tail_marginal = histogram[occurring], axis.marginal(heavy_tail(axis.n))[occurring]
    best, best_score = (float(_DISPERSIONS[-1]), float(_TAIL_WEIGHTS[0])), -np.inf
    for dispersion in _DISPERSIONS:
        marginal = axis.marginal(negative_binomial(axis.n, mean, float(dispersion)))[occurring]
        for share in _TAIL_WEIGHTS:
            likelihood = np.maximum((1 - share) * marginal + share * tail_marginal, np.finfo(float).tiny)
            score = float(weights @ np.log(likelihood))
            if score > best_score:
                best, best_score = (float(dispersion), float(share)), score
    return best
