"""Bins of predictions keep their sums."""

import numpy as np
import pytest

from vdr_spark.denoise.estimation.bins import calibrate_bins, fine_bins, sums_by_bin


def test_a_bin_far_above_lifts_nothing_that_lies_far_below_it() -> None:
    """As in empty country with one busy place: interpolated along logarithms, such bins held many times their sums."""
    rng = np.random.default_rng(0)
    predicted = np.concatenate([rng.lognormal(-6, 1.5, 200_000), rng.lognormal(1, 0.3, 3000)]).astype(np.float32)
    grid = fine_bins(predicted)
    bins = calibrate_bins(grid, sums_by_bin(grid, predicted, predicted), 50.0)
    assert 2 <= len(bins.edges) + 1 <= 4  # the noise joins nearly all of them
    means = bins.between(predicted).interpolate(bins.means)
    assert means.sum(dtype=np.float64) == pytest.approx(predicted.sum(dtype=np.float64), rel=0.03)
    low = predicted < 0.1
    assert means[low].sum(dtype=np.float64) == pytest.approx(predicted[low].sum(dtype=np.float64), rel=0.3)
