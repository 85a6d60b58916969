"""The regression on blind features: better than its parts, and right about how good it is."""

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import city, with_noise
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.fusion import fuse
from vdr_spark.denoise.priors import features as features_module
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.denoise.priors.temporal import temporal_prior
from vdr_spark.denoise.statistics.folds import Folds
from vdr_spark.denoise.statistics.local_mean import local_mean

NOISE = laplace_noise(8.0)


def prior_of(noisy: np.ndarray) -> np.ndarray:
    features = Features(noisy, NOISE, 4.0)
    return ridge_prior(features, fit_ridge(features, noisy, NOISE))


def festival() -> np.ndarray:
    """A city where one afternoon a whole quarter is busy: no other slice knows."""
    truth = city(12, 60)
    truth[4, 30:50, 30:50] += np.random.default_rng(5).poisson(25, (20, 20))
    return truth


def test_better_than_the_temporal_prior_where_a_slice_differs() -> None:
    truth = festival()
    noisy = with_noise(truth)
    ours, temporal = prior_of(noisy), temporal_prior(noisy, NOISE.variance).mean
    assert np.mean((ours - truth) ** 2) < 0.6 * np.mean((temporal - truth) ** 2)
    assert ours[4, 30:50, 30:50].mean() > 2 * temporal[4, 30:50, 30:50].mean()


def test_fusion_makes_it_better_still() -> None:
    truth = festival()
    noisy = with_noise(truth)
    prior = prior_of(noisy)
    assert np.mean((fuse(prior, noisy, NOISE).counts - truth) ** 2) < np.mean((prior - truth) ** 2)


def test_it_is_blind() -> None:
    """The mean squared difference to the noisy counts is its own error plus all of the noise: it has learnt none."""
    truth = festival()
    noisy = with_noise(truth)
    prior = prior_of(noisy)
    learnt = 2 * np.mean((noisy - truth) * (prior - truth))
    assert abs(learnt) < 0.01 * NOISE.variance


def small_town(cells: int) -> np.ndarray:
    """Mostly sea, and many slices: where weights that follow the noise show most."""
    rows, columns = np.mgrid[:cells, :cells] / cells
    rate = 8 * np.exp(-((rows - 0.4) ** 2 + (columns - 0.55) ** 2) * 288)
    rhythm = 1 + 0.6 * np.sin(np.arange(24))
    return np.random.default_rng(0).poisson(rhythm[:, None, None] * rate).astype(np.float32)


def own_noise_by_bin(predicted: np.ndarray, noise: np.ndarray, bins: int = 20) -> np.ndarray:
    """The mean noise in each quantile bin of predictions, in its standard errors. (bins,)"""
    edges = np.quantile(predicted, np.arange(1, bins) / bins)
    place = np.searchsorted(edges, predicted.ravel(), side="right")
    total, squares = (np.bincount(place, noise.ravel() ** power, minlength=bins) for power in (1, 2))
    return total / np.sqrt(np.maximum(squares, 1e-12))  # predictions that are all the same leave bins empty


@pytest.fixture(scope="module")
def town() -> tuple[np.ndarray, np.ndarray]:
    """The truth, and the noisy tensor."""
    truth = small_town(96)
    return truth, with_noise(truth, seed=3)


@pytest.fixture(scope="module")
def features(town: tuple[np.ndarray, np.ndarray]) -> Features:
    return Features(town[1], NOISE, 8.0)


def test_no_prediction_leans_towards_the_cells_own_noise(
    town: tuple[np.ndarray, np.ndarray], features: Features
) -> None:
    """In no bin: over millions of empty cells the least would add up."""
    truth, noisy = town
    prior = ridge_prior(features, fit_ridge(features, noisy, NOISE))
    assert abs(own_noise_by_bin(prior, noisy - truth)).max() < 4


def lean_over_draws(draws: int = 6) -> tuple[float, np.ndarray]:
    """Of a small town in 8 slices: how much of its cells' noise a prior follows, as so many cells' own; and by bin."""
    truth = small_town(96)[:8]
    follows, predicted, noises = [], [], []
    for draw in range(draws):
        noisy = with_noise(truth, seed=100 + draw)
        prior, noise = prior_of(noisy), noisy - truth
        follows.append(float((noise * (prior - truth)).sum() / NOISE.variance))
        predicted.append(prior)
        noises.append(noise)
    return float(np.mean(follows)), own_noise_by_bin(np.concatenate(predicted), np.concatenate(noises))


def test_on_a_small_tensor_no_prediction_leans_either() -> None:
    """Few cells teach the weights, so what they learn of the noise is seen first here."""
    follows, by_bin = lean_over_draws()
    assert abs(follows) < 20  # of 73,728
    assert abs(by_bin).max() < 4


def test_a_second_look_at_what_the_other_slices_say_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they expect was made by weights of other folds; a regression on both undoes that."""
    monkeypatch.setattr(Features, "regressed", lambda self, t: np.concatenate([self.of(t).others, self.of(t).own]))
    follows, by_bin = lean_over_draws()
    assert follows > 30
    assert abs(by_bin).max() > 6


def test_what_the_other_slices_expect_leans_towards_the_noise_of_no_block(
    town: tuple[np.ndarray, np.ndarray], features: Features
) -> None:
    """Sums over districts neither; those of the ridge prior may, which looks at the cells around in the same slice."""
    noise = town[1] - town[0]
    assert abs(own_noise_by_bin(features.expected, noise)).max() < 4
    sums = (Level(8, 1).sums(of) for of in (features.expected, noise))
    assert abs(own_noise_by_bin(*sums)).max() < 4


def test_weights_that_were_fitted_on_the_cell_itself_are_found_out(
    town: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is what the folds are for: the two tests above can fail."""
    right = Folds.elsewhere
    training = [2 * width for width in features_module._BEST_WIDTHS]

    def everywhere(folds: Folds, fold: int, distance: float) -> np.ndarray:
        """Every cell speaks for every fold."""
        return np.ones_like(folds.of_cell, bool) if distance in training else right(folds, fold, distance)

    monkeypatch.setattr(Folds, "elsewhere", everywhere)
    noise, expected = town[1] - town[0], Features(town[1], NOISE, 8.0).expected
    cells = own_noise_by_bin(expected, noise)
    blocks = own_noise_by_bin(*(Level(8, 1).sums(of) for of in (expected, noise)))
    for found in (cells, blocks):
        assert found[0] < -4  # low where the noise was low
        assert found[-1] > 2.5
        assert abs(found).max() > 5


@pytest.fixture(scope="module")
def alone() -> tuple[np.ndarray, np.ndarray]:
    """The truth and the noisy counts of one slice as large as real ones: a town with streets, a highway, and sea."""
    rows, columns = np.mgrid[:576, :576]
    away = np.hypot(rows - 230, columns - 320)
    rate = 6 * np.exp(-((away / 60) ** 2)) * (1 + 4 * ((rows % 9 == 0) | (columns % 12 == 0)))
    rate[rows == columns // 2] += 3
    truth = np.random.default_rng(0).poisson(rate)[None].astype(np.float32)
    return truth, with_noise(truth, seed=3)


def test_no_prediction_of_a_slice_alone_leans_towards_the_cells_own_noise(alone: tuple[np.ndarray, np.ndarray]) -> None:
    truth, noisy = alone
    prior = prior_of(noisy)
    assert np.mean((prior - truth) ** 2) < 0.6 * truth.var()
    assert abs(own_noise_by_bin(prior, noisy - truth)).max() < 4


def test_in_a_slice_alone_a_cell_moves_the_cells_around_and_not_itself(alone: tuple[np.ndarray, np.ndarray]) -> None:
    """In a town and at sea, amid a block of a fold, at its edge and in the corner of the grid."""
    _, noisy = alone
    before = prior_of(noisy)
    for row, column in ((216, 312), (240, 335), (500, 72), (0, 0)):
        changed = noisy.copy()
        changed[0, row, column] += 100
        moved = abs(prior_of(changed) - before)[0]
        assert moved[row, column] < 0.02  # by weights of other folds, whose features see it
        if row < 300 and row:
            assert moved[row, column + 1] > 1


def test_means_around_that_contain_the_cell_are_found_out(
    alone: tuple[np.ndarray, np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The two tests above can fail; here by means of a width of two cells, of which the cell is a fiftieth."""
    right = features_module.local_mean_excluding_self
    monkeypatch.setattr(
        features_module,
        "local_mean_excluding_self",
        lambda image, width: local_mean(image, width) if width == 2 else right(image, width),
    )
    truth, noisy = alone
    found = own_noise_by_bin(prior_of(noisy), noisy - truth)
    assert found[-1] > 6
    assert abs(found).max() > 6


@pytest.mark.parametrize("shape", [(1, 12, 12), (2, 9, 9), (3, 2, 2), (5, 16, 16)], ids=str)
@pytest.mark.parametrize("value", [0.0, -4.0, 5e4])
def test_any_shape_and_constant_tensors(shape: tuple[int, int, int], value: float) -> None:
    prior = prior_of(np.full(shape, value, np.float32))
    assert prior.shape == shape
    assert np.isfinite(prior).all()
    assert (prior >= 0).all()


def test_hundreds_of_slices() -> None:
    prior = prior_of(with_noise(np.full((576, 4, 4), 9, np.float32)))
    assert prior.mean() == pytest.approx(9, rel=0.25)
