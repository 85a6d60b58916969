"""The regression on blind features: better than its parts, and right about how good it is."""

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.denoise.estimation.fusion import fuse
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.denoise.priors.temporal import temporal_prior

NOISE = laplace_noise(8.0)


def prior_of(noisy: np.ndarray) -> np.ndarray:
    features = Features(noisy, NOISE, 4.0)
    return ridge_prior(features, fit_ridge(features, noisy, NOISE))


def festival() -> np.ndarray:
    """A city where one afternoon a whole quarter is busy: no other slice knows."""
    truth = city(12, 60)
    truth[4, 30:50, 30:50] += np.random.default_rng(5).poisson(25, (20, 20))
    return truth


def test_better_than_the_temporal_prior_where_a_slice_differs() -> None:
    truth = festival()
    noisy = with_noise(truth)
    ours, temporal = prior_of(noisy), temporal_prior(noisy, NOISE.variance).mean
    assert np.mean((ours - truth) ** 2) < 0.6 * np.mean((temporal - truth) ** 2)
    assert ours[4, 30:50, 30:50].mean() > 2 * temporal[4, 30:50, 30:50].mean()


def test_fusion_makes_it_better_still() -> None:
    truth = festival()
    noisy = with_noise(truth)
    prior = prior_of(noisy)
    assert np.mean((fuse(prior, noisy, NOISE).counts - truth) ** 2) < np.mean((prior - truth) ** 2)


def test_it_is_blind() -> None:
    """The mean squared difference to the noisy counts is its own error plus all of the noise: it has learnt none."""
    truth = festival()
    noisy = with_noise(truth)
    prior = prior_of(noisy)
    learnt = 2 * np.mean((noisy - truth) * (prior - truth))
    assert abs(learnt) < 0.01 * NOISE.variance


@pytest.mark.parametrize("shape", [(1, 12, 12), (2, 9, 9), (3, 2, 2), (5, 16, 16)], ids=str)
@pytest.mark.parametrize("value", [0.0, -4.0, 5e4])
def test_any_shape_and_constant_tensors(shape: tuple[int, int, int], value: float) -> None:
    prior = prior_of(np.full(shape, value, np.float32))
    assert prior.shape == shape
    assert np.isfinite(prior).all()
    assert (prior >= 0).all()


def test_hundreds_of_slices() -> None:
    prior = prior_of(with_noise(np.full((576, 4, 4), 9, np.float32)))
    assert prior.mean() == pytest.approx(9, rel=0.25)
