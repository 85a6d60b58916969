"""Distributions seen through the noise, against sums written out."""

import numpy as np
import pytest
from scipy import stats

from tests.denoise.gaussian import gaussian_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.likelihood import Axis, heavy_tail, negative_binomial
from vdr_spark.privacy.mechanism import Noise


def test_seen_through_the_noise_by_brute_force() -> None:
    axis = Axis(59, 1.0, laplace_noise(8.0))
    decay, n = np.exp(-1 / 8), np.arange(60)
    prior = negative_binomial(axis.n, 9.0, 2.0)
    for y in (0, 3, 25, 59):
        weights = prior * decay ** np.abs(y - n)
        for power in range(3):
            assert axis.marginal(prior * n**power)[y] == pytest.approx((weights * n**power).sum(), rel=1e-9)


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


@pytest.mark.parametrize(
    ("scale", "units_per_ping"), [(0.3, 1), (8.0, 1), (1e6, 1), (0.3, 2**20), (1e-5, 2**20)], ids=str
)
def test_tables_stay_short_and_steps_finer_than_the_noise(scale: float, units_per_ping: int) -> None:
    noise = laplace_noise(scale, units_per_ping)
    noisy = np.array([-5.0, 0.0, 1e-5, 1e12], np.float32)
    axis = Axis.of(noisy, noise)
    assert axis.largest <= 4096
    assert axis.step <= max(1.0 if noise.units_per_ping == 1 else noise.scale / 4, noise.scale / 60)
    assert axis.size == axis.largest + 1  # noise without memory: nothing below zero says more than zero
    places = axis.places(noisy)
    assert places.min() == 0
    assert places.max() == axis.largest
    np.testing.assert_array_equal(axis.is_beyond(noisy), [False, False, False, True])


@pytest.mark.parametrize(
    "noise", [laplace_noise(5.0), laplace_noise(128.0), laplace_noise(5.0, 2**20), gaussian_noise(5.0, 2**20)], ids=str
)
def test_the_largest_noisy_count_is_no_exception(noise: Noise) -> None:
    """It is likely to be the largest because of its noise: it must not be released as it is."""
    noisy = np.random.default_rng(0).laplace(0, noise.scale, 1000).astype(np.float32)
    assert not Axis.of(noisy, noise).is_beyond(noisy + 2 * np.float32(noise.scale)).any()


def test_a_mean_far_beyond_the_axis_is_all_at_its_end() -> None:
    mass = negative_binomial(np.arange(50.0), 1e7, 200.0)
    assert mass.sum() == pytest.approx(1)
    assert mass.argmax() == 49


def test_noise_with_a_memory_has_places_below_zero() -> None:
    """For such noise a count of -12 makes an empty cell more probable than a count of 0 does."""
    noise = gaussian_noise(4.0)
    noisy = np.array([-100.0, -12.0, 0.0, 9.0], np.float32)
    axis = Axis.of(noisy, noise)
    assert axis.size == 32 + axis.largest + 1
    np.testing.assert_array_equal(axis.places(noisy), [0, 20, 32, 41])
    n = axis.n
    prior = negative_binomial(n, 9.0, 2.0)
    mass, first = axis.marginal(np.stack([prior, prior * n]))
    for place, y in zip(axis.places(noisy)[1:], noisy[1:], strict=True):
        weights = prior * np.exp(-np.square((y - n) / 4) / 2)
        assert first[place] / mass[place] == pytest.approx((weights * n).sum() / weights.sum(), rel=1e-6)
    posterior = (first / mass)[axis.places(noisy)]
    assert posterior[1] < 0.7 * posterior[2]


@pytest.mark.parametrize("sigma", [0.4, 5.0, 200.0, 1e6])
@pytest.mark.parametrize("units_per_ping", [1, 2**20])
def test_through_gaussian_noise_nothing_vanishes(sigma: float, units_per_ping: int) -> None:
    """Gaussian tails are thin, and tables of logarithms are made of them: every place has a likelihood."""
    axis = Axis.of(np.array([-5.0, 1e12], np.float32), gaussian_noise(sigma, units_per_ping))
    seen = axis.marginal(heavy_tail(axis.n))
    assert seen.shape == (axis.size,)
    assert axis.below == pytest.approx(8 * sigma / axis.step, abs=1)
    assert np.log(seen).min() > -60
