"""Features are blind, and say what they say in pings."""

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.denoise.priors.features import Features

NOISE = laplace_noise(8.0)


@pytest.mark.parametrize("slices", [1, 2, 3, 12])
def test_no_feature_knows_the_cells_own_noise(slices: int) -> None:
    truth = city(slices, 120)
    noisy = with_noise(truth)
    features = Features(noisy, NOISE, 4.0)
    noise = noisy - truth
    both = [np.concatenate([of.others, of.own]) for of in map(features.of, range(slices))]
    seen = np.stack(both, axis=1).astype(np.float64)  # (C, T, M, M)
    for feature in seen:
        scaled = np.arcsinh(feature)  # else the hot spot alone would speak
        correlation = np.corrcoef(scaled.ravel(), noise.ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(noise.size)  # weights are fitted elsewhere: not even a little share


def test_features_of_the_own_slice_are_about_the_cells_around() -> None:
    noisy = with_noise(city(6, 60))
    changed = noisy.copy()
    changed[3, 20, 5] += 200
    before, after = (Features(tensor, NOISE, 4.0).of(3) for tensor in (noisy, changed))
    moved = abs(after.own - before.own)
    others = abs(after.others - before.others)
    assert (moved[:4, 20, 6] > 5 * moved[:4, 20, 5]).all()
    # Those of other slices go through convolutions: not even the cells around may see this one.
    assert others[:, 19:22, 4:7].max() < 0.6
    assert moved[:, 19:22, 4:7].max() > 10


def test_the_noise_in_a_feature_is_what_it_says() -> None:
    noisy = with_noise(np.zeros((12, 80, 80), np.float32))
    seen = Features(noisy, NOISE, 4.0).of(5)
    means = slice(1, 5)  # means of other slices: sums of noise with known weights
    np.testing.assert_allclose(seen.others[means].std(axis=(1, 2)), seen.others_noise[means], rtol=0.4)


def test_a_day_away_is_looked_at_where_a_day_is_whole_slices() -> None:
    noisy = with_noise(city())
    counts = {day: len(Features(noisy, NOISE, day).of(2).others) for day in (1.0, 4.0, 4.5, 30.0)}
    assert counts[4.0] > counts[1.0] == counts[4.5] == counts[30.0]
