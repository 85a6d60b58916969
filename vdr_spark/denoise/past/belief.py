"""Where the past may be believed: the probability, cell by cell, that a place still is what it was.

The window's slices other than t are compared with what the past has for them, at their hours, by means around a cell at
several widths: a district holds so many pings that its noise leaves no doubt where a cell's leaves nothing but doubt. A
place that stayed differs from its past by noise, by chance, and by as much as seasons and weeks move it. What differs
by more has changed, and there a prior that knows the past must fall back to the window alone.

Of slice t nothing is looked at, or, where it is the only one, nothing of the cell itself.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import maximum_filter

from vdr_spark.arrays import Image, Slices
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
_DRIFT = 0.25  # of what is usual: so far places move that stay what they are
_LOG_ODDS = 4.0  # one place in fifty has changed, before anything was looked at
_DISPERSION = 3.0  # of a cell's counts around what is usual


def fall_back(alone: Slices, with_past: Slices, past: PastEvidence, noisy: Slices, noise: Noise) -> Slices:
    """Return the prior that knows the past where the past may be believed, else that of the window alone. (T, M, M)"""
    others, mean = LeaveOneOut(noisy, estimate_activity(noisy, noise.variance)), np.empty_like(noisy)
    belief = Belief(past, noisy, others, noise.variance)
    for t, (without, knowing) in enumerate(zip(alone, with_past, strict=True)):
        mean[t] = without + belief.of(t) * (knowing - without)
    return mean


class Belief:
    """The belief in a past by one window, (T, M, M)."""

    def __init__(self, past: PastEvidence, noisy: Slices, others: LeaveOneOut, noise_variance: float) -> None:
        self._past, self._noisy, self._others, self._noise_variance = past, noisy, others, noise_variance
        self._total, self._variance = np.zeros_like(noisy[0]), 0.0
        for t, activity in enumerate(others.activity):  # what is usual for all slices, by least squares as their rate
            usual, variance = past.usual(t, float(activity))
            self._total += np.float32(activity) * usual
            self._variance += float(activity) ** 2 * variance

    def of(self, t: int) -> Image:
        """Return how far the past may be believed about slice t, from 0 to 1. (M, M)"""
        activity = float(self._others.activity[t])
        usual, variance = self._past.usual(t, activity)
        if len(self._noisy) == 1:
            return _believe(self._noisy[0], usual, 1.0, self._noise_variance + variance, with_self=False)
        weight = self._others.weight(t)
        usual = (self._total - np.float32(activity) * usual) / np.float32(weight)
        variance = (self._variance - activity**2 * variance) / weight**2
        return _believe(self._others.rate(t), usual, weight, self._noise_variance / weight + variance, with_self=True)


def _believe(rate: Image, usual: Image, weight: float, noise_variance: float, with_self: bool) -> Image:
    """Compare rates of so many slices with the usual ones; the variance is that of the noise in both. (M, M)"""
    mean, surprise = wide_local_mean if with_self else wide_local_mean_excluding_self, np.zeros_like(usual)
    for width in _WIDTHS:
        away, expected = mean(rate - usual, width), np.maximum(mean(usual, width), 0)
        by_chance = noise_variance + (expected + expected**2 / _DISPERSION) / weight
        variance = by_chance * variance_of_wide_mean(usual.shape, width, with_self) + (_DRIFT * expected) ** 2
        found = away**2 / (2 * variance + 1e-9)
        if with_self:  # a mean speaks for all cells in it; without, it would bring a cell's own noise back to it
            found = maximum_filter(found, 2 * round(width) + 1)
        surprise = np.maximum(surprise, found)
    belief: Image = (1 / (1 + np.exp(np.minimum(surprise - _LOG_ODDS, 50)))).astype(np.float32)
    return belief
