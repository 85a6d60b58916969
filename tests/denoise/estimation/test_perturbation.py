"""What an estimate pays for following its noise, at every size, beside closed forms and beside the truth."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.arrays import Slices
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.perturbation import SHARE, BlockSums, block_risks, perturb
from vdr_spark.privacy.mechanism import Noise

NOISE = laplace_noise(6.0)
SHAPE = (12, 96, 96)
LEVELS = [Level(1, 1), Level(4, 1), Level(16, 1), Level(4, 12)]


def noisy_city(seed: int, noise: Noise = NOISE) -> tuple[np.ndarray, np.ndarray]:
    """True and noisy counts, by the mechanism's own sampler."""
    rate = np.random.default_rng(1).gamma(0.3, 20.0, SHAPE[1:])
    truth = np.random.default_rng(seed).poisson(rate, SHAPE).astype(np.float32)
    return truth, under_noise(truth, noise, seed)


def risks_and_errors(
    estimate: Callable[[Slices], Slices], level: Level, noise: Noise, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Estimated and true squared errors of all blocks, relative to the variance of their noise."""
    truth, noisy = noisy_city(seed, noise)
    perturbed = perturb(noisy, noise, 100 + seed)  # else it would repeat the sequence that made the truth
    cells = level.sums(np.ones(SHAPE))
    first, second = (level.sums(estimate(of)) for of in (noisy, perturbed.noisy))
    sums = BlockSums(level.sums(noisy), first, second, level.sums(perturbed.signs), cells)
    errors = (first - level.sums(truth)) ** 2 / (cells * noise.variance)
    return block_risks(sums, noise).ravel(), errors.ravel()


def soft_threshold(noisy: Slices) -> Slices:
    """An estimate that is anything but smooth, and follows large noise only: where Gaussian noise would mislead."""
    return np.where(noisy > 2 * NOISE.scale, noisy - NOISE.scale, 0).astype(np.float32)


def clipped(noisy: Slices) -> Slices:
    """An estimate that follows small noise only."""
    return np.clip(noisy, 0, NOISE.scale).astype(np.float32)


def smoothed(noisy: Slices) -> Slices:
    """An estimate that looks at the slices around: sums follow further than cells."""
    around = np.roll(noisy, 1, axis=1) + np.roll(noisy, 1, axis=2) + noisy
    return (around / 3).astype(np.float32)


@pytest.mark.parametrize("noise", [NOISE, gaussian_noise(8.0)], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("level", LEVELS, ids=str)
@pytest.mark.parametrize("estimate", [soft_threshold, clipped, smoothed], ids=lambda of: of.__name__)
def test_the_risk_is_right_in_the_mean(estimate: Callable[[Slices], Slices], level: Level, noise: Noise) -> None:
    found = [risks_and_errors(estimate, level, noise, seed) for seed in range(8)]
    difference = np.concatenate([risks - errors for risks, errors in found])
    error = difference.std() / np.sqrt(difference.size)
    assert abs(difference.mean()) < 4 * error
    assert error < 0.05 * np.mean([errors.mean() for _, errors in found]) + 0.05  # so that it can be told


def test_gaussian_noise_of_the_same_variance_would_mislead() -> None:
    """Why the mechanism is asked: with noise of another shape the same estimate looks better or worse than it is."""
    pays, looks = [], []
    for seed in range(8):
        truth, noisy = noisy_city(seed)
        more = np.sqrt(SHARE) * NOISE.deviation * np.random.default_rng([seed, 1]).standard_normal(SHAPE)
        pays.append(2 * np.mean((noisy - truth) * clipped(noisy)) / NOISE.variance)
        looks.append(2 * np.mean(more * (clipped(noisy + more) - clipped(noisy))) / SHARE / NOISE.variance)
    assert np.mean(looks) > 1.15 * np.mean(pays)


def test_steps_of_another_size_than_the_noise_are_told_as_what_they_are() -> None:
    noise, noisy = gaussian_noise(8.0), np.zeros((40, 100, 100), np.float32)
    perturbed = perturb(noisy, noise)
    added = perturbed.noisy.var()
    assert added < 0.7 * SHARE * noise.variance  # steps are shorter than the noise
    assert perturbed.noise.variance == pytest.approx(noise.variance + added, rel=0.01)
    assert perturb(noisy, gaussian_noise(1e-5)).noise == gaussian_noise(1e-5)


def test_a_few_cells_are_perturbed_by_samples_of_the_noise() -> None:
    noisy = np.zeros((40, 100, 100), np.float32)
    perturbed = perturb(noisy, NOISE)
    assert (noisy == 0).all()
    assert ((perturbed.signs == 0) <= (perturbed.noisy == 0)).all()
    assert (np.sign(perturbed.noisy) * perturbed.signs >= 0).all()
    assert np.mean(perturbed.signs != 0) == pytest.approx(SHARE, rel=0.02)
    assert perturbed.signs.mean() == pytest.approx(0, abs=4 * np.sqrt(SHARE / noisy.size))
    assert perturbed.noisy[perturbed.signs != 0].var() == pytest.approx(NOISE.variance, rel=0.05)
    assert perturbed.noise.variance == pytest.approx((1 + SHARE) * NOISE.variance)
    np.testing.assert_array_equal(perturb(noisy, NOISE).noisy, perturbed.noisy)


def test_nothing_was_perturbed_where_there_is_one_cell() -> None:
    one = np.ones(1)
    assert block_risks(BlockSums(one, one, one, 0 * one, one), NOISE)[0] == 0  # as if it followed its noise as q^2 says


def test_widened_noise_is_the_same_noise_at_another_scale() -> None:
    noise = Noise(NOISE.mechanism, 4)
    wide = noise.widened(0.44)
    assert wide.deviation == pytest.approx(1.2 * noise.deviation)
    assert wide.scale == pytest.approx(1.2 * noise.scale)
    mass = np.zeros(50)
    mass[20] = 1
    np.testing.assert_allclose(wide.convolve(mass, 1.2), noise.convolve(mass, 1.0))
