"""Sums come closer to the truth where noisy sums know them, stay where they do not, and the risk is unbiased."""

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.perturbation import perturb
from vdr_spark.denoise.estimation.reconcile import Denoised, Twins, reconcile, resting_on_prior
from vdr_spark.privacy.mechanism import Noise

SHAPE = (8, 64, 64)
DISTRICTS = Level(16, SHAPE[0])


def with_noise(truth: np.ndarray, noise: Noise, seed: int = 1) -> np.ndarray:
    """Laplace noise, of exactly the variance of the discrete one."""
    drawn = np.random.default_rng(seed).laplace(0, np.sqrt(noise.variance / 2), truth.shape)
    return (truth + drawn).astype(np.float32)


def twins_of(truth: np.ndarray, estimate: np.ndarray, noise: Noise, populated: np.ndarray | None = None) -> Twins:
    """An estimate that does not follow its noise at all: all of it rests on the prior."""
    noisy, counts = with_noise(truth, noise), estimate.astype(np.float32)
    perturbed = perturb(noisy, noise)
    where = np.ones(truth.shape, bool) if populated is None else populated
    first, second = (Denoised(of, counts, counts, where) for of in (noisy, perturbed.noisy))
    return Twins(first, second, perturbed.signs)


def rates(mean: float) -> np.ndarray:
    return np.random.default_rng(0).gamma(2.0, mean / 2, SHAPE)


def test_sums_that_are_too_low_come_closer_to_the_truth_at_every_level() -> None:
    truth, noise = rates(5.0), laplace_noise(2.0)
    twins = reconcile(twins_of(truth, 0.8 * truth, noise), noise)
    for level in (DISTRICTS, Level(16, 1), Level(64, 1)):
        for estimate in (twins.first.counts, twins.second.counts):
            assert abs(level.sums(estimate) / level.sums(truth) - 1).mean() < 0.04
    assert abs(DISTRICTS.sums(twins.first.counts) / DISTRICTS.sums(truth) - 1).max() < 0.04  # each was 0.2 off
    assert (twins.first.counts >= 0).all()
    assert np.corrcoef(twins.first.counts.ravel(), truth.ravel())[0, 1] > 0.99  # within a block, cells share alike


def test_sums_that_are_too_high_come_down_and_cells_stay_above_zero() -> None:
    truth, noise = rates(5.0), laplace_noise(2.0)
    truth[:, :16, :16] = 0  # a district where nobody is, and the model says otherwise
    estimate = truth + 1
    before = twins_of(truth, estimate, noise)
    after = reconcile(before, noise).first.counts
    errors = [abs(DISTRICTS.sums(of) - DISTRICTS.sums(truth)).mean() for of in (before.first.counts, after)]
    assert errors[1] < 0.2 * errors[0]
    assert after.min() > 0
    assert after[:, :16, :16].mean() < 0.5 * estimate[:, :16, :16].mean()


def test_what_is_right_hardly_moves_towards_noise() -> None:
    truth, noise = rates(0.02), laplace_noise(8.0)
    after = reconcile(twins_of(truth, truth, noise), noise).first.counts
    for level in (DISTRICTS, Level(16, 1), Level(64, 1)):
        moved, own = level.sums(after) - level.sums(truth), level.sums(np.ones(SHAPE))
        assert np.sqrt(np.mean(moved**2 / (own * noise.variance))) < 0.2  # of the noise that such a sum has


def test_where_everything_is_noise_a_model_that_is_wrong_is_found_out_by_many_blocks() -> None:
    """No block stands out far from its noise, but together they say that the model expects half of what there is."""
    truth, noise = rates(0.5), laplace_noise(8.0)
    after = reconcile(twins_of(truth, 0.5 * truth, noise), noise).first.counts
    errors = [abs(DISTRICTS.sums(of) - DISTRICTS.sums(truth)).mean() for of in (0.5 * truth, after)]
    assert errors[1] < errors[0]


def test_cells_in_empty_country_take_no_part() -> None:
    truth, noise = rates(5.0), laplace_noise(2.0)
    populated = np.zeros(SHAPE, bool)
    populated[:, :, 24:] = True  # a border that cuts through blocks
    before = twins_of(truth, 0.8 * truth, noise, populated)
    after = reconcile(before, noise).first
    np.testing.assert_array_equal(after.counts[~populated], before.first.counts[~populated])
    assert abs(after.counts - before.first.counts)[populated].min() > 0
    sums = [Level(64, 8).sums(of * populated)[0, 0, 0] for of in (after.counts, truth)]
    assert sums[0] == pytest.approx(sums[1], rel=0.02)  # corrected by the populated cells of cut blocks alone


def test_cells_that_follow_their_own_count_are_left_as_they_are() -> None:
    truth, noise = rates(5.0), laplace_noise(2.0)
    twins = twins_of(truth, 0.8 * truth, noise)
    certain = np.zeros(SHAPE, bool)
    certain[:, ::2] = True
    rests = np.where(certain, 0, twins.first.counts).astype(np.float32)
    first, second = (Denoised(of.noisy, of.counts, rests, of.populated) for of in (twins.first, twins.second))
    after = reconcile(Twins(first, second, twins.signs), noise).first.counts
    np.testing.assert_array_equal(after[certain], first.counts[certain])
    assert DISTRICTS.sums(after).sum() == pytest.approx(truth.sum(), rel=0.04)


@pytest.mark.parametrize("shape", [(1, 2, 2), (1, 40, 40), (3, 33, 33), (2, 1, 1)], ids=str)
def test_any_shape(shape: tuple[int, int, int]) -> None:
    truth, noise = np.full(shape, 9.0), laplace_noise(2.0)
    after = reconcile(twins_of(truth, 0.8 * truth, noise), noise).first.counts
    assert after.shape == shape
    assert np.isfinite(after).all()
    assert (after >= 0).all()


def test_what_rests_on_the_prior_is_what_the_gain_leaves() -> None:
    noise = laplace_noise(2.0)
    prior = np.array([[[10, 10, 10]]], np.float32)
    deviation = np.sqrt(noise.variance * np.array([[[0, 0.25, 4]]])).astype(np.float32)
    np.testing.assert_allclose(resting_on_prior(prior, deviation, noise), [[[10, 7.5, 0]]], rtol=1e-5)
