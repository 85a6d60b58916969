"""The past is believed where it pays beyond chance."""

import numpy as np

from tests.denoise.past.towns import NOISE, grid_of, town
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.choice import pays


def test_the_better_prior_is_found_and_one_that_is_better_by_chance_is_not() -> None:
    truth = town(1, grid_of(0))
    noisy = with_noise(truth)
    wrong = truth * 0.5 + 1
    assert pays(wrong, truth, noisy, NOISE)
    assert not pays(truth, wrong, noisy, NOISE)
    chance = [np.random.default_rng(seed).normal(0, 0.1, truth.shape).astype(np.float32) for seed in range(10)]
    assert sum(pays(truth + of, truth - of, noisy, NOISE) for of in chance) <= 2


def test_a_few_cells_that_were_predicted_wildly_do_not_decide() -> None:
    truth = town(1, grid_of(0))
    noisy = with_noise(truth)
    wild = truth.copy()
    wild[0, :2, :2] = 2000
    assert pays(truth * 0.5 + 1, wild, noisy, NOISE)
