"""Rates of cells, told by other slices."""

import numpy as np
import pytest

from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.denoise.priors.rates import rates_prior
from vdr_spark.denoise.priors.temporal import temporal_prior
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.privacy.mechanism import Noise

EVEN = np.ones(12)


@pytest.mark.parametrize("noise", [laplace_noise(8.0), gaussian_noise(11.0)], ids=["Laplace", "Gaussian"])
def test_sparse_peaks_are_found_where_a_mean_would_smear_them(noise: Noise) -> None:
    rng = np.random.default_rng(0)
    rate = np.zeros((60, 60))
    rate.ravel()[rng.choice(3600, 40, replace=False)] = 60
    truth = rng.poisson(np.broadcast_to(rate, (12, 60, 60))).astype(np.float32)
    noisy = under_noise(truth, noise)
    prior = rates_prior(noisy, LeaveOneOut(noisy, EVEN), noise)
    error = np.mean((prior - truth) ** 2)
    assert error < 0.5 * np.mean((temporal_prior(noisy, noise.variance).mean - truth) ** 2)
    assert prior[:, rate > 0].mean() == pytest.approx(60, rel=0.15)
    assert prior[:, rate == 0].mean() < 0.3


@pytest.mark.parametrize("slices", [1, 2, 6])
def test_a_prediction_does_not_see_the_cells_own_noise(slices: int) -> None:
    noisy = with_noise(city(slices))
    changed = noisy.copy()
    changed[0, 20, 5] += 40
    before, after = (
        rates_prior(tensor, LeaveOneOut(tensor, np.ones(slices)), laplace_noise(8.0)) for tensor in (noisy, changed)
    )
    # The prior of rates is learnt from all cells together, and moves a little.
    assert after[0, 20, 5] == pytest.approx(before[0, 20, 5], rel=0.02)
    assert abs(after - before).max() > (0.5 if slices > 1 else 0)


@pytest.mark.parametrize("value", [0.0, -9.0, 1e6])
@pytest.mark.parametrize("shape", [(1, 4, 4), (2, 2, 2), (3, 40, 40)])
def test_constant_tensors(value: float, shape: tuple[int, int, int]) -> None:
    noisy = np.full(shape, value, np.float32)
    prior = rates_prior(noisy, LeaveOneOut(noisy, np.ones(shape[0])), laplace_noise(8.0))
    assert np.isfinite(prior).all()
    assert (prior >= 0).all()
