"""The regression against a plain weighted least squares of its own."""

import numpy as np
import pytest

from vdr_spark.denoise.priors.regression import Regression


def test_weights_are_those_of_weighted_least_squares() -> None:
    rng = np.random.default_rng(0)
    expected = np.full((4, 30, 30), 10, np.float32)  # all in one class
    features = rng.normal(size=(4, 3, 30, 30)).astype(np.float32)
    noisy = expected + 2 * features[:, 0] - features[:, 2] + rng.normal(size=expected.shape).astype(np.float32)
    found = Regression.fit(features.__getitem__, expected, noisy, 2.0, range(4)).weights[2]
    design = features.transpose(1, 0, 2, 3).reshape(3, -1).T
    plain, *_ = np.linalg.lstsq(design, (noisy - expected).ravel(), rcond=None)
    np.testing.assert_allclose(found, plain, atol=5e-3)  # a thousandth of ridge


def test_busy_and_empty_cells_have_weights_of_their_own() -> None:
    rng = np.random.default_rng(1)
    expected = np.where(np.arange(40) < 20, 0.01, 200).astype(np.float32) * np.ones((2, 40, 40), np.float32)
    feature = rng.normal(size=(2, 1, 40, 40)).astype(np.float32)
    noisy = expected + np.where(expected > 1, 3, 0.5) * feature[:, 0]
    regression = Regression.fit(feature.__getitem__, expected, noisy, 1.0, [0, 1])
    np.testing.assert_allclose(regression.weights[[0, 3], 0], [0.5, 3], rtol=0.01)
    predicted = regression.predict(feature[0], expected[0])
    busy = expected[0] > 1
    np.testing.assert_allclose(predicted[busy], noisy[0][busy], rtol=0.01)
    assert (predicted > 0).all()  # never below a share of what was expected


def test_a_handful_of_cells_is_not_learnt_by_heart() -> None:
    """Eight busy cells and as many features: they could be predicted exactly, noise and all."""
    rng = np.random.default_rng(2)
    expected = np.full((1, 60, 60), 10, np.float32)
    expected[0, 0, :8] = 300
    features = rng.normal(size=(1, 8, 60, 60)).astype(np.float32)
    noisy = expected + rng.normal(0, 20, expected.shape).astype(np.float32)
    regression = Regression.fit(features.__getitem__, expected, noisy, 400.0, [0])
    error = regression.predict(features[0], expected[0]) - expected[0]
    assert abs(error[0, :8]).max() < 10
    np.testing.assert_array_equal(regression.weights[3], regression.weights[2])


def test_too_few_cells_altogether_change_nothing() -> None:
    rng = np.random.default_rng(3)
    expected = np.full((1, 5, 5), 10, np.float32)
    features = rng.normal(size=(1, 8, 5, 5)).astype(np.float32)
    regression = Regression.fit(features.__getitem__, expected, 2 * expected, 1.0, [0])
    assert not regression.weights.any()


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_features_that_say_nothing_change_nothing(value: float) -> None:
    expected = np.full((2, 5, 5), 3, np.float32)
    regression = Regression.fit(lambda _: np.full((2, 5, 5), value, np.float32), expected, expected, 1.0, [0, 1])
    np.testing.assert_allclose(regression.predict(np.full((2, 5, 5), value, np.float32), expected[0]), 3, rtol=1e-4)
