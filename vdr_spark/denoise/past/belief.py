"""Where the past may be believed: the probability, cell by cell, that a place still is what it was lately.

The window's slices other than t are compared with what the latest windows have for them, at their hours, by means
around a cell at several widths: a district holds so many pings that its noise leaves no doubt where a cell's leaves
nothing but doubt. The latest windows, and not all: by the mean of all, a place that opened a month ago has hardly
opened, and when it closes hardly anything is missed.

A place that stayed differs from its past by noise, by chance, and by its *drift*, as seasons and weeks move it. How far
places drift is seen on the map itself: by so much that nine in ten differ by no more than they may. What differs by
more has changed, and so has what looks as if it had emptied; there what is released must be what the window alone has.

Of slice t nothing is looked at, or, where it is the only one, nothing of the cell itself.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter

from vdr_spark.arrays import Floats, Image, Slices
from vdr_spark.denoise.past.evidence import PastEvidence
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.local_mean import (
    variance_of_wide_mean,
    wide_local_mean,
    wide_local_mean_excluding_self,
)
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.privacy.mechanism import Noise

_WIDTHS = (4.0, 2.0, 1.0)  # cells, over which the window is compared with its past
_DRIFTS = (0.15, 0.2, 0.25)  # of what is usual: so far places may move that stay what they are
_USUAL_DRIFT = 0.25  # where the map cannot tell
_WITHIN, _DEVIATIONS = 0.9, 1.645  # such a share of places differs by no more than so many deviations
_STANDS_OUT = 2.0  # deviations of the noise, above which a place shows how far it drifts
_LEAST_CELLS = 50  # that show it
_LOG_ODDS = 4.0  # one place in fifty has changed, before anything was looked at
_EMPTIED = 2.0  # one in seven has emptied: so much likelier, as a logarithm
_DISPERSION = 3.0  # of a cell's counts around what is usual


def believe(past: PastEvidence, noisy: Slices, noise: Noise) -> Slices:
    """Return how far the past may be believed about every cell of a window, from 0 to 1. (T, M, M)"""
    others = LeaveOneOut(noisy, estimate_activity(noisy, noise.variance))
    belief = Belief(past, noisy, others, noise.variance)
    return np.stack([belief.of(t) for t in range(len(noisy))])


class Belief:
    """The belief in a past by one window, (T, M, M)."""

    def __init__(self, past: PastEvidence, noisy: Slices, others: LeaveOneOut, noise_variance: float) -> None:
        self._usual, self._noisy, self._others, self._noise_variance = past.usual, noisy, others, noise_variance
        self._total = np.zeros_like(noisy[0])
        for t, activity in enumerate(others.activity):  # what is usual for all slices, by least squares as their rate
            self._total += np.float32(activity) * self._usual.at(t, float(activity))[0]

    def of(self, t: int) -> Image:
        """Return how far the past may be believed about slice t, from 0 to 1. (M, M)"""
        activity = float(self._others.activity[t])
        usual, variance = self._usual.at(t, activity)
        if len(self._noisy) == 1:
            return _believe(self._noisy[0], usual, 1.0, self._noise_variance + variance, with_self=False)
        weight = self._others.weight(t)
        usual = (self._total - np.float32(activity) * usual) / np.float32(weight)
        squares = np.where(np.arange(len(self._noisy)) == t, 0, self._others.activity**2)
        variance = self._usual.noise_of_sum(squares) / weight**2
        return _believe(self._others.rate(t), usual, weight, self._noise_variance / weight + variance, with_self=True)


def _believe(rate: Image, usual: Image, weight: float, noise_variance: float, with_self: bool) -> Image:
    """Compare rates of so many slices with the usual ones; the variance is that of the noise in both. (M, M)"""
    mean, surprise = wide_local_mean if with_self else wide_local_mean_excluding_self, np.zeros_like(usual)
    for width in _WIDTHS:
        away, expected = mean(rate - usual, width), np.maximum(mean(usual, width), 0)
        left = variance_of_wide_mean(usual.shape, width, with_self)
        by_chance = left * (noise_variance + (expected + expected**2 / _DISPERSION) / weight)
        drift = _USUAL_DRIFT
        if with_self:  # nothing of the slice is in it; else the drift would have seen the cell
            known = expected > _STANDS_OUT * np.sqrt(noise_variance * left)
            drift = _estimate_drift(away[known], expected[known], by_chance[known])
        found = _surprise(away, expected, by_chance + 1e-9, drift)
        if with_self:  # a mean speaks for all cells in it; without, it would bring a cell's own noise back to it
            found = maximum_filter(found, 2 * round(width) + 1)
        surprise = np.maximum(surprise, found)
    belief: Image = (1 / (1 + np.exp(np.minimum(surprise - _LOG_ODDS, 50)))).astype(np.float32)
    return belief


def _surprise(away: Image, expected: Image, by_chance: Floats, drift: float) -> Floats:
    """Return how much speaks for a change, as a logarithm: places are where none drifts to, or as if they had emptied.

    That they emptied says where they are now, so less noise hides it than another change.
    """
    stayed = by_chance + (drift * expected) ** 2
    changed = away**2 / (2 * stayed)
    emptied = changed - (away + expected) ** 2 / (2 * by_chance) + np.log(stayed / by_chance) / 2 + _EMPTIED
    surprise: Floats = np.maximum(changed, np.where(expected > 0, emptied, 0))
    return surprise


def _estimate_drift(away: Image, expected: Image, by_chance: Floats) -> float:
    """Return the least drift by which all but a few places differ no more than they may. (cells,) each"""
    if len(away) < _LEAST_CELLS:
        return _USUAL_DRIFT
    for drift in _DRIFTS:
        within = away**2 < _DEVIATIONS**2 * (by_chance + (drift * expected) ** 2)
        if within.mean() >= _WITHIN:
            return drift
    return _DRIFTS[-1]
