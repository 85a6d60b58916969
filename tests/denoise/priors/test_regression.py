"""The regression against a plain weighted least squares of its own."""

import numpy as np
import pytest

from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.denoise.statistics.folds import NUMBER
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.denoise.statistics.surroundings import Surroundings

BUSY = 2


def all_busy(shape: tuple[int, int, int]) -> Surroundings:
    """Surroundings of a tensor that is busy everywhere: every cell is in one class."""
    ones = np.ones(shape, np.float32)
    return Surroundings(ones, 1e-6, LeaveOneOut(ones, np.ones(shape[0])))


def busy_in_the_east(shape: tuple[int, int, int]) -> Surroundings:
    """Surroundings of which the east, but for a margin that the wide mean reaches, is busy and the west empty."""
    half = np.broadcast_to(np.arange(shape[2]) >= shape[2] // 2, shape).astype(np.float32)
    return Surroundings(half, 0.1, LeaveOneOut(half, np.ones(shape[0])))


def fit(
    features: np.ndarray, expected: np.ndarray, noisy: np.ndarray, variance: float, where: Surroundings | None = None
) -> Regression:
    """Fit on all slices. (T, C, M, M), (T, M, M), (T, M, M)"""
    where = where or all_busy(noisy.shape)
    return Regression.fit(features.__getitem__, expected, noisy, variance, range(len(noisy)), where)


def test_weights_are_those_of_weighted_least_squares_on_the_other_folds() -> None:
    rng = np.random.default_rng(0)
    expected = np.full((4, 30, 30), 10, np.float32)  # all in one class
    features = rng.normal(size=(4, 3, 30, 30)).astype(np.float32)
    noisy = expected + 2 * features[:, 0] - features[:, 2] + rng.normal(size=expected.shape).astype(np.float32)
    regression = fit(features, expected, noisy, 2.0)
    for fold in range(NUMBER):
        others = regression.folds.of_cell != fold
        design = features[..., others].transpose(1, 0, 2).reshape(3, -1).T
        plain, *_ = np.linalg.lstsq(design, (noisy - expected)[:, others].ravel(), rcond=None)
        found = regression.weights[fold, BUSY, 2]
        np.testing.assert_allclose(found, plain, atol=5e-3)  # a thousandth of ridge
    assert np.ptp(regression.weights[:, BUSY, 2], axis=0).min() > 1e-3  # every fold has its own


def test_the_counts_of_a_fold_have_no_say_in_its_weights() -> None:
    rng = np.random.default_rng(4)
    expected = np.full((2, 40, 40), 10, np.float32)
    features = rng.normal(size=(2, 3, 40, 40)).astype(np.float32)
    noisy = expected + rng.normal(size=expected.shape).astype(np.float32)
    before = fit(features, expected, noisy, 2.0)
    changed = noisy.copy()
    inside = before.folds.of_cell == 3
    changed[:, inside] += 5 * features[:, 0, inside]
    after = fit(features, expected, changed, 2.0)
    np.testing.assert_array_equal(after.weights[3], before.weights[3])
    for fold in (0, 1, 2, 4):
        assert after.weights[fold, BUSY, 2, 0] > before.weights[fold, BUSY, 2, 0] + 0.5
    predicted = [of.predict(1, features[1], expected[1]) for of in (before, after)]
    np.testing.assert_array_equal(predicted[0][inside], predicted[1][inside])


def test_busy_and_empty_cells_have_weights_of_their_own() -> None:
    rng = np.random.default_rng(1)
    expected = np.where(np.arange(40) < 20, 0.01, 200).astype(np.float32) * np.ones((2, 40, 40), np.float32)
    feature = rng.normal(size=(2, 1, 40, 40)).astype(np.float32)
    noisy = expected + np.where(expected > 1, 3, 0.5) * feature[:, 0]
    regression = fit(feature, expected, noisy, 1.0)
    for of_fold in regression.weights[:, BUSY]:
        np.testing.assert_allclose(of_fold[[0, 3], 0], [0.5, 3], rtol=0.01)
    predicted = regression.predict(0, feature[0], expected[0])
    busy = expected[0] > 1
    np.testing.assert_allclose(predicted[busy], noisy[0][busy], rtol=0.01)
    assert (predicted > 0).all()  # never below a share of what was expected


def test_each_kind_of_surroundings_has_weights_of_its_own() -> None:
    """Cells of which as much is expected, in empty country and in a town."""
    rng = np.random.default_rng(5)
    where = busy_in_the_east((2, 64, 64))
    busy = where.of(0) == BUSY
    assert set(np.unique(where.of(0))) == {0, BUSY}
    expected = np.full((2, 64, 64), 30, np.float32)
    feature = rng.normal(size=(2, 1, 64, 64)).astype(np.float32)
    noisy = expected + np.where(busy, 3, 0.5) * feature[:, 0]
    regression = fit(feature, expected, noisy, 1.0, where)
    for of_fold in regression.weights[:, :, 2, 0]:
        np.testing.assert_allclose(of_fold[[0, BUSY]], [0.5, 3], rtol=0.01)
    np.testing.assert_allclose(regression.predict(1, feature[1], expected[1]), noisy[1], atol=0.1)


def test_surroundings_of_too_few_cells_have_the_weights_of_all() -> None:
    rng = np.random.default_rng(6)
    expected = np.full((2, 30, 30), 10, np.float32)
    feature = rng.normal(size=(2, 1, 30, 30)).astype(np.float32)
    weights = fit(feature, expected, expected + 2 * feature[:, 0], 1.0).weights  # nothing is empty, nothing is thin
    np.testing.assert_array_equal(weights[:, 0], weights[:, BUSY])
    np.testing.assert_allclose(weights, 2, rtol=0.01)


def test_a_handful_of_cells_is_not_learnt_by_heart() -> None:
    """Eight busy cells and as many features: they could be predicted exactly, noise and all."""
    rng = np.random.default_rng(2)
    expected = np.full((1, 60, 60), 10, np.float32)
    expected[0, 0, :8] = 300
    features = rng.normal(size=(1, 8, 60, 60)).astype(np.float32)
    noisy = expected + rng.normal(0, 20, expected.shape).astype(np.float32)
    regression = fit(features, expected, noisy, 400.0)
    error = regression.predict(0, features[0], expected[0]) - expected[0]
    assert abs(error[0, :8]).max() < 10
    np.testing.assert_array_equal(regression.weights[:, BUSY, 3], regression.weights[:, BUSY, 2])


def test_too_few_cells_altogether_change_nothing() -> None:
    rng = np.random.default_rng(3)
    expected = np.full((1, 5, 5), 10, np.float32)
    features = rng.normal(size=(1, 8, 5, 5)).astype(np.float32)
    assert not fit(features, expected, 2 * expected, 1.0).weights.any()


def test_weights_of_a_slice_alone_are_the_best_of_at_least_zero() -> None:
    """Of three means one speaks against the others: its weight is zero, and the others are best without it."""
    rng = np.random.default_rng(7)
    expected = np.full((40, 40), 10, np.float32)
    features = np.stack([expected, *rng.gamma(2, 5, (3, 40, 40)).astype(np.float32)])
    noisy = (0.5 * features[1] + 0.8 * features[2] - 0.3 * features[3]).astype(np.float32)
    noisy += rng.normal(size=noisy.shape).astype(np.float32)
    regression = Regression.fit_alone(features, expected, noisy, 1e9, all_busy((1, 40, 40)))  # all equally well known
    for fold in range(NUMBER):
        others = regression.folds.of_cell != fold
        plain, *_ = np.linalg.lstsq(features[1:3, others].T, noisy[others], rcond=None)
        found = regression.weights[fold, BUSY, 2]
        assert found[0] == -1  # what is expected is taken off again
        assert found[3] == 0
        np.testing.assert_allclose(found[1:3], plain, atol=0.01)  # a thousandth of ridge
    predicted = regression.predict(0, features, expected)
    np.testing.assert_allclose(np.corrcoef(predicted.ravel(), noisy.ravel())[0, 1], 0.9, atol=0.1)


def test_a_slice_alone_of_too_few_cells_is_as_expected() -> None:
    rng = np.random.default_rng(8)
    expected = np.full((6, 6), 10, np.float32)
    features = np.stack([expected, *rng.gamma(2, 5, (3, 6, 6)).astype(np.float32)])
    regression = Regression.fit_alone(features, expected, features[1], 1.0, all_busy((1, 6, 6)))
    np.testing.assert_allclose(regression.predict(0, features, expected), expected)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_features_that_say_nothing_change_nothing(value: float) -> None:
    expected = np.full((2, 5, 5), 3, np.float32)
    features = np.full((2, 2, 5, 5), value, np.float32)
    regression = fit(features, expected, expected, 1.0)
    np.testing.assert_allclose(regression.predict(0, features[0], expected[0]), 3, rtol=1e-4)
