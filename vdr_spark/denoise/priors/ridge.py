"""`ridge`: what other slices expect of a cell, corrected by what its surroundings hold. No network; a minute of CPU."""

from __future__ import annotations

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress, Progress


def fit_ridge(features: Features, noisy: Slices, noise: Noise, progress: Progress | None = None) -> Regression:
    """Fit the regression of a noisy tensor (T, M, M)."""
    if len(noisy) == 1:
        alone = features.regressed(0)
        return Regression.fit_alone(alone, features.expected[0], noisy[0], noise.variance, features.surroundings)
    return Regression.fit(
        features.regressed,
        features.expected,
        noisy,
        noise.variance,
        features.training_slices,
        features.surroundings,
        progress,
    )


def ridge_prior(features: Features, regression: Regression, progress: Progress | None = None) -> Slices:
    """Predict every cell from what holds nothing of its own noise. (T, M, M)"""
    mean = np.empty_like(features.expected)
    with (progress or NullProgress()).task("denoise: ridge prior", len(mean)) as update:
        for t, expected in enumerate(features.expected):
            mean[t] = regression.predict(t, features.regressed(t), expected)
            update(t + 1, "")
    return mean
