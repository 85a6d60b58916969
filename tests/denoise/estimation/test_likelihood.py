"""Distributions seen through the noise, against sums written out."""

import numpy as np
import pytest
from scipy import stats

from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial
from vdr_spark.denoise.estimation.risk import Noise


def test_seen_through_the_noise_by_brute_force() -> None:
    axis = Axis(59, 1.0, 8.0)
    decay, n = np.exp(-1 / 8), np.arange(60)
    prior = negative_binomial(axis.n, 9.0, 2.0)
    for y in (0, 3, 25, 59):
        weights = prior * decay ** np.abs(y - n)
        for power in range(3):
            assert axis.seen(prior * n**power)[y] == pytest.approx((weights * n**power).sum(), rel=1e-9)


def test_below_zero_the_posterior_is_that_of_zero() -> None:
    """P(y | n) = decay**(n - y) for every y <= 0, so y cancels: checked against the definition, not assumed."""
    decay, n = np.exp(-1 / 8), np.arange(60.0)
    prior = negative_binomial(n, 9.0, 2.0)
    means = []
    for y in (0, -1, -40):
        weights = prior * decay ** np.abs(y - n)
        means.append((weights * n).sum() / weights.sum())
    assert means == pytest.approx([means[0]] * 3)


@pytest.mark.parametrize(("mean", "dispersion"), [(0.01, 0.05), (9.0, 2.0), (300.0, 50.0)])
def test_negative_binomial_is_scipy_s(mean: float, dispersion: float) -> None:
    n = np.arange(3000.0)
    expected = stats.nbinom.pmf(n, dispersion, dispersion / (dispersion + mean))
    np.testing.assert_allclose(negative_binomial(n, mean, dispersion), expected, atol=1e-9, rtol=1e-6)


def test_the_tail_is_heavy_and_adds_up() -> None:
    tail = heavy_tail(np.arange(1000.0))
    assert tail.sum() == pytest.approx(1)
    assert tail[99] / tail[399] == pytest.approx(8)  # (400 / 100) ** 1.5


@pytest.mark.parametrize("noise", [Noise(0.3), Noise(8.0), Noise(1e6), Noise(0.3, 2**20), Noise(1e-5, 2**20)], ids=str)
def test_tables_stay_short_and_steps_finer_than_the_noise(noise: Noise) -> None:
    noisy = np.array([-5.0, 0.0, 1e-5, 1e12], np.float32)
    axis = Axis.of(noisy, noise)
    assert axis.largest <= 4096
    assert axis.step <= max(1.0 if noise.unit == 1 else noise.scale / 4, noise.scale / 60)
    assert axis.scale * axis.step == pytest.approx(noise.scale)
    places = axis.places(noisy)
    assert places.min() == 0
    assert places.max() == axis.largest
    np.testing.assert_array_equal(axis.is_beyond(noisy), [False, False, False, True])


@pytest.mark.parametrize("noise", [Noise(5.0), Noise(128.0), Noise(5.0, 2**20)], ids=str)
def test_the_largest_noisy_count_is_no_exception(noise: Noise) -> None:
    """It is likely to be the largest because of its noise: it must not be released as it is."""
    noisy = np.random.default_rng(0).laplace(0, noise.scale, 1000).astype(np.float32)
    assert not Axis.of(noisy, noise).is_beyond(noisy + 2 * np.float32(noise.scale)).any()


def test_a_mean_far_beyond_the_axis_is_all_at_its_end() -> None:
    mass = negative_binomial(np.arange(50.0), 1e7, 200.0)
    assert mass.sum() == pytest.approx(1)
    assert mass.argmax() == 49
