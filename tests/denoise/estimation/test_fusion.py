"""Fusion is Bayes' rule: against a brute-force posterior, and calibrated on a city with a known truth."""

from fractions import Fraction

import numpy as np
import pytest

from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.denoise.estimation.fusion import Fusion, fuse
from vdr_spark.denoise.priors.temporal import temporal_prior
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.mechanism import Noise

NOISE = DiscreteLaplace(Fraction(8))


BOTH = pytest.mark.parametrize("noise", [laplace_noise(8.0), gaussian_noise(11.0)], ids=["Laplace", "Gaussian"])


@BOTH
def test_better_than_prior_and_than_noise_and_the_error_bars_are_right(noise: Noise) -> None:
    truth = city()
    noisy = under_noise(truth, noise)
    prior = temporal_prior(noisy, noise.variance).mean
    fused = fuse(prior, noisy, noise)
    error = np.mean((fused.counts - truth) ** 2)
    assert error < np.mean((prior - truth) ** 2)
    assert error < 0.1 * np.mean((noisy - truth) ** 2)
    assert fused.deviation is not None
    assert np.mean(fused.deviation**2) == pytest.approx(error, rel=0.35)


@BOTH
def test_a_peak_nobody_predicted_is_kept(noise: Noise) -> None:
    truth = city()
    truth[3, 30, 30] = 900
    noisy = under_noise(truth, noise)
    fused = fuse(temporal_prior(noisy, noise.variance).mean, noisy, noise)
    assert fused.counts[3, 30, 30] > 700
    assert fused.counts[4, 30, 30] < 40


@pytest.mark.parametrize("seed", range(5))
def test_a_lone_spike_keeps_its_height(seed: int) -> None:
    """Bins that never saw one must not have a say about it."""
    rng = np.random.default_rng(seed)
    rate = rng.gamma(0.3, 3.0, (1, 60, 60)).repeat(12, axis=0)
    truth = rng.poisson(rate).astype(np.float32)
    truth[5, 20, 20] = 500
    noisy = truth + rng.laplace(0, 1, truth.shape).round().astype(np.float32)
    fused = fuse(temporal_prior(noisy, 2.0).mean, noisy, laplace_noise(1.0))
    assert fused.counts[5, 20, 20] == pytest.approx(500, abs=10)


def test_a_useless_prior_does_no_harm() -> None:
    truth = city()
    noisy = with_noise(truth)
    rng = np.random.default_rng(2)
    fused = fuse(rng.exponential(5, truth.shape).astype(np.float32), noisy, laplace_noise(8.0))
    assert np.mean((fused.counts - truth) ** 2) < np.mean((noisy - truth) ** 2)


@BOTH
@pytest.mark.parametrize("value", [0.0, -5.0, 70_000.0])
def test_constant_tensors(value: float, noise: Noise) -> None:
    noisy = np.full((2, 9, 9), value, np.float32)
    fused = fuse(np.maximum(noisy, 0), noisy, noise)
    assert np.isfinite(fused.counts).all()
    np.testing.assert_allclose(fused.counts, max(value, 0), atol=8)


def test_the_calibrated_prior_has_the_mean_of_what_was_counted() -> None:
    truth = city()
    noisy = with_noise(truth)
    prior = temporal_prior(noisy, NOISE.variance).mean
    fused = fuse(2 * prior, noisy, laplace_noise(8.0))  # a model that predicts twice too much
    assert fused.prior is not None
    assert fused.prior_deviation is not None
    assert fused.prior.sum() == pytest.approx(noisy.sum(), rel=0.1)
    busy = prior > np.quantile(prior, 0.9)
    assert fused.prior[busy].sum() == pytest.approx(noisy[busy].sum(), rel=0.1)
    # What is left after seeing the count is less than before: on average always, and for most cells.
    assert fused.deviation is not None
    assert np.mean(fused.deviation[busy] ** 2) < 0.3 * np.mean(fused.prior_deviation[busy] ** 2)
    assert (fused.deviation[busy] < 1.05 * fused.prior_deviation[busy]).mean() > 0.8


def test_steady_cells_follow_the_model_and_volatile_ones_their_count() -> None:
    rng = np.random.default_rng(0)
    truth = np.full((24, 60, 60), 20.0)
    volatile = np.zeros((60, 60), bool)
    volatile[:, 30:] = True
    truth[:, volatile] *= rng.gamma(1.0, 1.0, (24, volatile.sum()))
    truth = rng.poisson(truth).astype(np.float32)
    noisy = with_noise(truth)
    fused = fuse(np.full_like(noisy, 20), noisy, laplace_noise(8.0))
    following = [np.polyfit(noisy[:, of].ravel(), fused.counts[:, of].ravel(), 1)[0] for of in (~volatile, volatile)]
    assert following[0] < 0.3
    assert following[1] > 3 * following[0]


def test_the_posterior_of_a_slice_may_be_asked_for_other_counts() -> None:
    """As the estimate of its error does: fitted once, looked up with cells perturbed up and down."""
    noisy = with_noise(city())
    prior = temporal_prior(noisy, NOISE.variance).mean
    fusion = Fusion.fit(prior, noisy, laplace_noise(8.0))
    as_it_is, more = (fusion.posterior(2, prior[2], noisy[2] + push)[0] for push in (0, 30))
    np.testing.assert_array_equal(as_it_is, fusion.apply(prior, noisy).counts[2])
    assert (more >= as_it_is - 1e-4).all()
    assert more.sum() > as_it_is.sum()


def test_noise_in_empty_country_does_not_become_pings() -> None:
    """Means of bins are cut off at zero, so bins in which noise makes the mean would add pings: they are joined."""
    made = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        noisy = rng.laplace(0, 8, (4, 96, 96)).round().astype(np.float32)
        prior = np.exp(rng.normal(-3, 1.5, noisy.shape)).astype(np.float32)  # says nothing
        made.append(fuse(prior, noisy, laplace_noise(8.0)).counts.mean() - max(0, noisy.mean()))
    assert np.mean(made) < 0.012


def test_sea_has_bins_of_its_own() -> None:
    """As much is predicted of the sea as of the land, and one is empty and the other is not."""
    truth = np.zeros((8, 128, 128), np.float32)
    truth[:, :, 96:] = np.random.default_rng(3).poisson(0.6, (8, 128, 32))
    noisy, prior = with_noise(truth), np.full_like(truth, 0.3)
    fusion = Fusion.fit(prior, noisy, laplace_noise(8.0))
    fused = fusion.apply(prior, noisy)
    assert fused.counts[:, 8:-8, 8:60].mean() < 0.1
    assert fused.counts[:, 8:-8, 104:].mean() == pytest.approx(0.6, abs=0.25)
    populated = np.stack([fusion.populated(t) for t in range(8)])
    assert populated[:, 8:-8, 104:].mean() > 0.9
    assert populated[:, 8:-8, 8:60].mean() < 0.1


def test_interpolation_between_bins_keeps_their_sums() -> None:
    """What is interpolated between wide bins along a curve would lie above the curve."""
    ratios = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        rate = np.exp(rng.uniform(np.log(0.05), np.log(60), (6, 60, 60)))
        noisy = with_noise(rng.poisson(rate).astype(np.float32), seed)
        fused = fuse((rate**2).astype(np.float32), noisy, laplace_noise(8.0))
        assert fused.prior is not None
        ratios.append(fused.prior.sum() / noisy.sum())
    assert np.mean(ratios) == pytest.approx(1, abs=0.012)


def test_a_slice_that_is_predicted_empty_stays_so() -> None:
    """Its cells lie below the lowest bin that can be told from noise, and are not given the mean of that bin."""
    rng = np.random.default_rng(0)
    rate = np.full((12, 60, 60), 0.4) * rng.lognormal(0, 0.5, (60, 60))
    rate[5] *= 0.02
    noisy = with_noise(rng.poisson(rate).astype(np.float32))
    fused = fuse(rate.astype(np.float32), noisy, laplace_noise(8.0))
    assert fused.prior is not None
    assert fused.prior[5].sum() < 0.1 * fused.prior[4].sum()  # 0.02 in truth
    assert fused.counts[5].sum() < 0.1 * fused.counts[4].sum()
    assert fused.prior.sum() == pytest.approx(noisy.sum(), rel=0.1)
