"""How good the cells of a denoised tensor are, judged by the noisy one alone: what a release says of itself.

Without fusion `auto` chooses by it; with fusion it judges sums of all sizes (`denoise.estimation.sum_risk`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Slices
from vdr_spark.denoise.estimation.risk import Estimate, estimate_risks
from vdr_spark.denoise.statistics.local_mean import local_mean, remaining_variance
from vdr_spark.denoise.statistics.subsets import evenly_spaced
from vdr_spark.privacy.mechanism import Noise

_SMOOTHING = 1.0  # cells, of the map that says where people are
_MOST_SLICES = 8  # that are looked at

EstimatorOf = Callable[[list[int]], Estimate]
"""Takes the numbers of slices; returns what makes an estimate of those slices out of their noisy counts."""


@dataclass(frozen=True)
class Accuracy:
    """The estimated accuracy of a tensor of kept pings. Differences between models are more reliable than levels."""

    rmse: float | None  # pings per cell, all cells alike; None: less than the estimate's own error can tell
    busy_error: float  # mean squared error where people are, relative to the noise's own; 1: as bad as not denoising

    @classmethod
    def of_noise(cls, noise: Noise) -> Accuracy:
        """Return the accuracy of a noisy tensor as it is."""
        return cls(noise.deviation, noise.variance / max(noise.variance, 1.0))

    def as_notes(self) -> dict[str, float | None]:
        """Return the figures by the names under which a release keeps them."""
        return {"estimated_rmse": self.rmse, "estimated_busy_error": self.busy_error}


def estimate_accuracy(
    noisy: Slices, estimator_of: EstimatorOf, noise: Noise, cell_by_cell: bool, seed: int = 0
) -> Accuracy:
    """Estimate how accurate the estimates are that `estimator_of` gives for some slices of a noisy tensor (T, M, M).

    `cell_by_cell`: an estimate depends on no noisy count of its slice but the cell's own, as after fusion of a blind
    prior that is held fixed.
    """
    some = evenly_spaced(len(noisy), _MOST_SLICES)
    total = noisy.sum(axis=0, dtype=np.float64)
    weights = np.stack([busyness(total - noisy[t], len(noisy) - 1, noise) for t in some])
    estimate = estimator_of(some)
    alike, busy = estimate_risks(noisy[some], estimate, noise, [None, weights], seed, cell_by_cell)
    # The squares of all noise are as large as expected up to so much: sqrt(5) variances of Laplace noise for one cell,
    # which is more than the sqrt(2) of Gaussian noise.
    uncertain = math.sqrt(5 / noisy[some].size) * noise.variance
    squared = float(alike.mean()) if alike.mean() > 2 * uncertain else None
    return Accuracy(None if squared is None else squared**0.5, float(busy.mean()) / max(noise.variance, 1.0))


def busyness(total: Floats, slices: int, noise: Noise) -> Slices:
    """Return how much a cell's error matters, of mean 1, judged by the sum of slices other than the measured. (M, M)

    People ask about busy places, and nearly all cells are empty: with equal weights the best model would be one that
    makes empty country flat. Weights grow with the mean count, beyond what noise alone would show, where that is below
    a slice's noise; above, what matters is the error relative to the count.
    """
    smooth = local_mean(total / max(1, slices), _SMOOTHING)
    mean = np.maximum(smooth - 2 * np.sqrt(noise.variance * remaining_variance(_SMOOTHING) / max(1, slices)), 0)
    weights = mean / np.square(np.maximum(mean, max(1.0, noise.deviation)))
    average = float(weights.mean())
    scaled: Slices = (weights / average if average > 0 else np.ones_like(weights)).astype(np.float32)
    return scaled
