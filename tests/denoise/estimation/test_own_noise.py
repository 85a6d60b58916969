"""A model that looks at the cell itself: how much of the cell's noise is in what it says, and that fusion knows it."""

import numpy as np
import pytest

from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.fusion import Fusion, fuse
from vdr_spark.denoise.estimation.own_noise import OwnNoise
from vdr_spark.privacy.mechanism import Noise

BOTH = pytest.mark.parametrize("noise", [laplace_noise(8.0), gaussian_noise(11.0)], ids=["Laplace", "Gaussian"])


RATE = np.full((96, 96), 0.01)
RATE[20:60, 20:60] = 15.0


def town() -> np.ndarray:
    """Return a busy quarter in empty country. (T, M, M)"""
    return np.random.default_rng(0).poisson(RATE, (8, *RATE.shape)).astype(np.float32)


def listen(noisy: np.ndarray) -> np.ndarray:
    """Predict to a third by the cell's own count, as a codebook does that has few cells to a code."""
    return np.maximum(0.35 * noisy + 0.65 * RATE, 0).astype(np.float32)


def fours(predicted: np.ndarray) -> np.ndarray:
    return np.minimum(predicted // 4, 5).astype(np.int64)


@BOTH
def test_the_noise_in_a_bin_is_known_without_the_truth(noise: Noise) -> None:
    noisy = under_noise(town(), noise)
    predicted, followed = listen(noisy), OwnNoise.of(listen, noisy, noise)
    told = sum(followed.in_bins(t, fours, predicted[t], 6) for t in range(len(noisy)))
    true = np.bincount(fours(predicted).ravel(), (noisy - town()).ravel(), 6)
    assert np.abs(true).max() > 50_000
    np.testing.assert_allclose(told, true, atol=0.1 * np.abs(true).max())
    assert sum(told) == pytest.approx(0, abs=1e-6 * np.abs(true).max())  # of all bins together: every cell is in one


def test_a_blind_model_follows_no_noise() -> None:
    noise, predicted = laplace_noise(8.0), town()
    followed = OwnNoise.of(lambda _: predicted, under_noise(predicted, noise), noise)
    assert not followed.in_bins(0, fours, predicted[0], 6).any()


@BOTH
def test_noise_that_comes_back_does_not_become_people(noise: Noise) -> None:
    truth = town()
    noisy = under_noise(truth, noise)
    predicted = listen(noisy)
    aware = Fusion.fit(predicted, noisy, noise, OwnNoise.of(listen, noisy, noise)).apply(predicted, noisy)
    unaware = fuse(predicted, noisy, noise)  # takes it for a blind one
    assert unaware.counts.sum() > 2 * truth.sum()
    assert aware.counts.sum() == pytest.approx(truth.sum(), rel=0.15)
    assert np.mean((aware.counts - truth) ** 2) < 0.5 * np.mean((unaware.counts - truth) ** 2)
    busy = RATE > 1
    errors = [np.mean((of - truth)[:, busy] ** 2) for of in (aware.counts, unaware.counts, noisy)]
    assert errors[0] < 0.8 * errors[2]
