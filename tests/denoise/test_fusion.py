"""Fusion is Bayes' rule: against a brute-force posterior, and calibrated on a city with a known truth."""

from fractions import Fraction

import numpy as np
import pytest

from tests.denoise.test_temporal import city, with_noise
from vdr_spark.denoise import fusion
from vdr_spark.denoise.fusion import fuse
from vdr_spark.denoise.temporal import temporal_prior
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace

NOISE = DiscreteLaplace(Fraction(8))


def test_posterior_by_brute_force() -> None:
    decay, n = np.exp(-1 / 8), np.arange(60)
    prior = fusion._negative_binomial(n.astype(float), 9.0, 2.0)
    for y in (0, 3, 25, 59):
        weights = prior * decay ** np.abs(y - n)
        for power in range(3):
            found = fusion._convolved(prior * n**power, decay)[y]
            assert found == pytest.approx((weights * n**power).sum(), rel=1e-9)


def test_below_zero_the_posterior_is_that_of_zero() -> None:
    """P(y | n) = p**(n - y) for every y <= 0, so y cancels: checked against the definition, not assumed."""
    decay, n = np.exp(-1 / 8), np.arange(60)
    prior = fusion._negative_binomial(n.astype(float), 9.0, 2.0)
    means = []
    for y in (0, -1, -40):
        weights = prior * decay ** np.abs(y - n)
        means.append((weights * n).sum() / weights.sum())
    assert means == pytest.approx([means[0]] * 3)


def test_better_than_prior_and_than_noise_and_the_error_bars_are_right() -> None:
    truth = city()
    noisy = with_noise(truth)
    prior = temporal_prior(noisy, NOISE.variance).mean
    fused = fuse(prior, noisy, 8.0)
    error = np.mean((fused.counts - truth) ** 2)
    assert error < np.mean((prior - truth) ** 2)
    assert error < 0.1 * np.mean((noisy - truth) ** 2)
    assert fused.deviation is not None
    assert np.mean(fused.deviation**2) == pytest.approx(error, rel=0.35)


def test_a_peak_nobody_predicted_is_kept() -> None:
    truth = city()
    truth[3, 30, 30] = 900
    noisy = with_noise(truth)
    fused = fuse(temporal_prior(noisy, NOISE.variance).mean, noisy, 8.0)
    assert fused.counts[3, 30, 30] > 700
    assert fused.counts[4, 30, 30] < 40


def test_a_useless_prior_does_no_harm() -> None:
    truth = city()
    noisy = with_noise(truth)
    rng = np.random.default_rng(2)
    fused = fuse(rng.exponential(5, truth.shape).astype(np.float32), noisy, 8.0)
    assert np.mean((fused.counts - truth) ** 2) < np.mean((noisy - truth) ** 2)


@pytest.mark.parametrize("value", [0.0, -5.0, 70_000.0])
def test_constant_tensors(value: float) -> None:
    noisy = np.full((2, 9, 9), value, np.float32)
    fused = fuse(np.maximum(noisy, 0), noisy, 8.0)
    assert np.isfinite(fused.counts).all()
    np.testing.assert_allclose(fused.counts, max(value, 0), atol=8)
