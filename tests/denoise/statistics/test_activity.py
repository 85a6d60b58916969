"""How busy slices are, against totals that the tests know."""

import numpy as np
import pytest

from tests.denoise.priors.test_temporal import NOISE, city, with_noise
from vdr_spark.denoise.statistics.activity import estimate_activity


def test_it_follows_the_rhythm() -> None:
    truth = 10 * city()
    totals = truth.sum(axis=(1, 2))
    np.testing.assert_allclose(estimate_activity(with_noise(truth), NOISE.variance), totals / totals.mean(), atol=0.1)


def test_better_than_the_totals_where_noise_drowns_them() -> None:
    truth = np.pad(city(), ((0, 0), (80, 80), (80, 80)))  # empty country, whose noise the totals hold
    activity = truth.sum(axis=(1, 2)) / truth.sum(axis=(1, 2)).mean()
    noisy = with_noise(truth)
    totals = noisy.sum(axis=(1, 2)) / noisy.sum(axis=(1, 2)).mean()
    assert abs(estimate_activity(noisy, NOISE.variance) - activity).mean() < 0.5 * abs(totals - activity).mean()


def test_slices_of_other_shapes_are_not_taken_for_empty_ones() -> None:
    """At night people are elsewhere: a comparison with the day's map alone would say that there are none."""
    truth = np.zeros((8, 40, 40), np.float32)
    truth[:, 5:15, 5:15] = 50
    truth[5:] = truth[5:, ::-1, ::-1]
    np.testing.assert_allclose(estimate_activity(with_noise(truth), NOISE.variance), 1, atol=0.25)


def test_pure_noise_is_even() -> None:
    activity = estimate_activity(with_noise(np.zeros((12, 40, 40), np.float32)), NOISE.variance)
    assert activity.std() < 0.5
    assert (activity > 0).all()


@pytest.mark.parametrize("shape", [(1, 5, 5), (2, 3, 3), (3, 8, 8)])
@pytest.mark.parametrize("value", [0.0, -3.0, 7.0])
def test_constant_tensors_are_even(shape: tuple[int, int, int], value: float) -> None:
    np.testing.assert_allclose(estimate_activity(np.full(shape, value, np.float32), NOISE.variance), 1, atol=1e-6)
    np.testing.assert_allclose(estimate_activity(np.full(shape, value, np.float32), 0.0), 1, atol=1e-6)
