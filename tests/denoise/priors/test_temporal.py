"""The temporal prior knows nothing of a cell's own noise, and its blind risk tells the truth."""

from fractions import Fraction

import numpy as np
import pytest

from vdr_spark.denoise.priors.temporal import temporal_prior
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import seeded_words

NOISE = DiscreteLaplace(Fraction(8))


def city(slices: int = 12, cells: int = 40) -> np.ndarray:
    """Poisson counts of a road, a hot spot and a rhythm."""
    rng = np.random.default_rng(0)
    rate = np.full((cells, cells), 0.3)
    rate[cells // 2] = 12
    rate[8:12, 8:12] = 40
    rhythm = 1 + 0.8 * np.sin(np.arange(slices))
    return rng.poisson(rhythm[:, None, None] * rate).astype(np.float32)


def with_noise(truth: np.ndarray, seed: int = 1) -> np.ndarray:
    noise = NOISE.sample(truth.size, seeded_words(seed, 0)).reshape(truth.shape)
    return (truth + noise).astype(np.float32)


@pytest.mark.parametrize("slices", [1, 6])
def test_a_prediction_does_not_see_the_cells_own_noise(slices: int) -> None:
    noisy = with_noise(city(slices))
    before = temporal_prior(noisy, NOISE.variance)
    changed = noisy.copy()
    changed[0, 20, 5] += 3  # too little to change activities or the width
    after = temporal_prior(changed, NOISE.variance)
    assert after.width == before.width
    assert abs(after.mean[0, 20, 5] - before.mean[0, 20, 5]) < 0.05  # activities move a little with every cell
    assert abs(after.mean - before.mean).max() > 0.1  # others do see it


def test_better_than_the_noise_and_the_blind_risk_says_by_how_much() -> None:
    truth = city()
    prior = temporal_prior(with_noise(truth), NOISE.variance)
    risk = float(np.mean((prior.mean - truth) ** 2))
    assert risk < 0.2 * NOISE.variance
    assert prior.blind_risk == pytest.approx(risk, abs=0.05 * NOISE.variance)


def test_a_tensor_of_zeros() -> None:
    assert not temporal_prior(np.zeros((4, 9, 9), np.float32), NOISE.variance).mean.any()
