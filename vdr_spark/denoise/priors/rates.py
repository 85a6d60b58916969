"""`rates`: what each cell holds in a mean slice, as the other slices tell it. No network, seconds of CPU.

For slice t a cell's count is taken to vary around activity_t * rate. The rate has a posterior on a grid of values: the
likelihood of the cell's noisy counts in all slices other than t, times a prior. The prior is learnt, by expectation
and maximisation, from the cells themselves, apart for cells in busy and in empty surroundings. So a place with one
large count among noise, and a place with many small ones, are told apart, as no average could.
"""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Floats, Image, Integers, Slices
from vdr_spark.denoise.estimation.likelihood import Axis, negative_binomial
from vdr_spark.denoise.statistics.local_mean import local_mean_excluding_self
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress, Progress

_RATES = 24  # values of the grid: as good as none, then equal steps of the logarithm
_LEAST_RATE = 1e-3  # pings
_FINEST = 0.02  # of the noise in a mean over all slices: no finer rates can be told apart
_DISPERSION = 4.0  # of a cell's count around its rate, from slice to slice
_WIDTH = 1.5  # cells, of the surroundings
_LEAST_CELLS = 500  # in a class of surroundings
_ROUNDS = 60  # of expectation and maximisation
_SPARE = 1e-3  # of the prior, spread over all rates: none is impossible


def rates_prior(noisy: Slices, others: LeaveOneOut, noise: Noise, progress: Progress | None = None) -> Slices:
    """Predict every slice of a noisy tensor (T, M, M) from the other ones; nothing of a cell's own noise is in it."""
    with (progress or NullProgress()).task("denoise: rates of cells", 2 * len(noisy)) as update:
        rates = _Rates(noisy, others, noise)
        for t in range(len(noisy)):
            rates.learn(t)
            update(t + 1, "")
        mean = np.empty_like(noisy)
        for t in range(len(noisy)):
            mean[t] = rates.predict(t)
            update(len(noisy) + t + 1, "")
    return mean


class _Rates:
    """The likelihood of every cell's rates, learnt slice by slice, and the priors of classes of surroundings."""

    def __init__(self, noisy: Slices, others: LeaveOneOut, noise: Noise) -> None:
        self._noisy, self._others_rate, self._activity = noisy, others.rate, others.activity
        self._axis = Axis.of(noisy, noise)
        top = max(2.0, float(np.partition(noisy.mean(axis=0).ravel(), -2)[-2]))
        least = min(max(2 * _LEAST_RATE, _FINEST * noise.scale / len(noisy) ** 0.5), top)
        self._grid = np.append(_LEAST_RATE, np.geomspace(least, 2 * top, _RATES - 1)) / self._axis.step
        self._likelihood = np.zeros((noisy[0].size, _RATES), np.float32)  # log, of all slices learnt
        self._classes: Floats | None = None
        self._priors: Floats | None = None

    def learn(self, t: int) -> None:
        """Take in what slice t says."""
        self._likelihood += self._evidence(t)

    def predict(self, t: int) -> Slices:
        """Predict slice t from all slices learnt but itself. (M, M)"""
        if len(self._noisy) == 1:
            # Nothing but the mean of all cells: what is around a cell in its own slice is for other features.
            return np.full_like(self._noisy[0], max(_LEAST_RATE, float(self._noisy[0].mean())))
        surroundings, others = self._surroundings(t), self._leave_out(t)
        if self._classes is None or self._priors is None:  # of rates, which are the same for all slices
            self._classes = _class_edges(surroundings)
            self._priors = _learn_priors(np.searchsorted(self._classes, surroundings), others, len(self._classes) + 1)
        others *= self._priors[np.searchsorted(self._classes, surroundings)]
        rate = (others @ self._grid) / others.sum(axis=1) * self._axis.step
        predicted: Slices = (self._activity[t] * rate).reshape(self._noisy[t].shape).astype(np.float32)
        return predicted

    def _evidence(self, t: int) -> Image:
        """Return the log likelihood of every rate by one slice. (M*M, rates)"""
        axis = self._axis
        mass = [negative_binomial(axis.n, self._activity[t] * rate, _DISPERSION) for rate in self._grid]
        table = np.log(np.maximum(axis.marginal(np.stack(mass)), np.finfo(float).tiny)).T.astype(np.float32)
        evidence: Image = table[axis.places(self._noisy[t]).ravel()]
        return evidence

    def _leave_out(self, t: int) -> Floats:
        """Return the likelihood of every rate by all slices other than t, up to a factor. (M*M, rates)"""
        logs = self._likelihood - self._evidence(t)
        likelihood: Floats = np.exp(logs - logs.max(axis=1, keepdims=True)).astype(np.float64)
        return likelihood

    def _surroundings(self, t: int) -> Floats:
        """Return the mean rate around every cell, itself left out. (M*M,)"""
        return local_mean_excluding_self(self._others_rate(t), _WIDTH).ravel().astype(np.float64)


def _class_edges(surroundings: Floats) -> Floats:
    """Return edges between classes: the emptier half of all cells, then half of the rest, and so on."""
    halvings = max(1, int(np.log2(surroundings.size / _LEAST_CELLS))) if surroundings.size > _LEAST_CELLS else 0
    edges: Floats = np.quantile(surroundings, 1 - 0.5 ** np.arange(1, halvings + 1))
    return edges


def _learn_priors(classes: Integers, likelihood: Floats, number: int) -> Floats:
    """Learn the distribution of rates in every class that makes all counts most probable. (classes, rates)"""
    priors = np.full((number, likelihood.shape[1]), 1 / likelihood.shape[1])
    for which, prior in enumerate(priors):
        members = likelihood[classes == which]
        for _ in range(_ROUNDS if len(members) else 0):
            posterior = members * prior
            posterior /= posterior.sum(axis=1, keepdims=True)
            prior[:] = posterior.mean(axis=0)
    smoothed: Floats = (1 - _SPARE) * priors + _SPARE / likelihood.shape[1]
    return smoothed
