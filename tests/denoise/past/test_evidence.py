"""A window with its past: better where the city stayed, not dragged where it changed, and blind."""

from pathlib import Path

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.past.towns import NOISE, grid_of, remember, town, usual_past
from tests.denoise.priors.test_ridge import own_noise_by_bin
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise import stage
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.past.evidence import EarlierWindow, PastEvidence, choose_latest
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.progress import NullProgress

GRID = grid_of(0)
WINDOWS = 5


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return town(1, GRID)


@pytest.fixture(scope="module")
def noisy(truth: np.ndarray) -> np.ndarray:
    return with_noise(truth, seed=3)


@pytest.fixture(scope="module")
def alone(noisy: np.ndarray, tmp_path_factory: pytest.TempPathFactory) -> np.ndarray:
    return denoised(noisy, tmp_path_factory.mktemp("alone"), None)[0]


def denoised(
    noisy: np.ndarray, folder: Path, past: PastEvidence | None, fusion: bool = True
) -> tuple[np.ndarray, dict[str, object]]:
    settings = DenoiseSettings(model="ridge", fusion=fusion)
    tensor, notes = denoise_tensor(noisy, NOISE, 8.0, settings, str(folder), NullProgress(), past=past)
    return tensor.counts, notes


def error(counts: np.ndarray, truth: np.ndarray) -> float:
    return float(np.sqrt(np.mean((counts - truth) ** 2)))


def test_a_city_that_stays_gains(tmp_path: Path, truth: np.ndarray, noisy: np.ndarray, alone: np.ndarray) -> None:
    counts, notes = denoised(noisy, tmp_path, remember(noisy, GRID, usual_past(WINDOWS, GRID)))
    assert error(counts, truth) < 0.8 * error(alone, truth)
    assert notes["past"] == {"windows": WINDOWS, "used": True}
    assert set(notes["estimated_errors"]) == {"ridge", "ridge, with the past"}  # type: ignore[call-overload]


def test_a_city_that_changed_overnight_is_not_dragged_by_its_past(
    tmp_path: Path, truth: np.ndarray, noisy: np.ndarray, alone: np.ndarray
) -> None:
    """Its past is its mirror image: streets and centre lie elsewhere."""
    mirrored = [(of[:, :, ::-1], grid) for of, grid in usual_past(WINDOWS, GRID)]
    counts, _ = denoised(noisy, tmp_path, remember(noisy, GRID, mirrored))
    assert error(counts, truth) < 1.02 * error(alone, truth)


@pytest.mark.parametrize("fusion", [True, False])
def test_a_district_that_opens_and_one_that_closes_are_not_dragged_by_their_past(tmp_path: Path, fusion: bool) -> None:
    """The rest of the town stays, so that the past is believed there."""
    opened, closed = (slice(None), slice(70, 86), slice(6, 22)), (slice(None), slice(36, 50), slice(50, 64))
    truth = town(1, GRID)
    truth[opened] = np.random.default_rng(4).poisson(9, truth[opened].shape)
    truth[closed] = 0
    noisy = with_noise(truth, seed=3)
    alone, _ = denoised(noisy, tmp_path / "alone", None, fusion)
    counts, notes = denoised(noisy, tmp_path / "past", remember(noisy, GRID, usual_past(WINDOWS, GRID)), fusion)
    assert notes["past"]["used"]  # type: ignore[index]
    assert error(counts, truth) < 0.9 * error(alone, truth)
    for where in (opened, closed):
        assert error(counts[where], truth[where]) < 1.02 * error(alone[where], truth[where])


def test_what_is_not_believed_has_no_say_in_the_choice(
    tmp_path: Path, noisy: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing of the past is believed, the prior with it is the window's own, which it is compared with."""
    compared = list[tuple[np.ndarray, np.ndarray]]()

    def refuse(alone: np.ndarray, with_past: np.ndarray, *_: object) -> bool:
        compared.append((alone, with_past))
        return False

    monkeypatch.setattr(stage, "believe", lambda _past, noisy, _noise: np.zeros_like(noisy))
    monkeypatch.setattr(stage, "pays", refuse)
    denoised(noisy, tmp_path, remember(noisy, GRID, usual_past(2, GRID)))
    ((alone, with_past),) = compared
    np.testing.assert_allclose(with_past, alone, rtol=1e-6)


def predict_window(noisy: np.ndarray, past: PastEvidence) -> np.ndarray:
    """What `ridge` makes of the window's cells when it is shown earlier slices too."""
    shown = past.before(noisy)
    features = Features(shown, NOISE, 8.0)
    return ridge_prior(features, fit_ridge(features, shown, NOISE))[-len(noisy) :]


def test_what_is_predicted_with_the_past_leans_towards_the_noise_of_no_cell_and_of_no_block(truth: np.ndarray) -> None:
    past, draws = usual_past(3, GRID), [with_noise(truth, seed) for seed in (20, 21)]
    predicted = np.concatenate([predict_window(noisy, remember(noisy, GRID, past)) for noisy in draws])
    noise = np.concatenate([noisy - truth for noisy in draws])
    assert abs(own_noise_by_bin(predicted, noise)).max() < 4
    assert abs(own_noise_by_bin(*(Level(8, 1).sums(of) for of in (predicted, noise)))).max() < 4


def test_a_past_that_holds_the_windows_own_noise_is_found_out(truth: np.ndarray, noisy: np.ndarray) -> None:
    """The test above can fail: here the window itself is taken for an earlier one."""
    past = [*usual_past(2, GRID), (noisy, grid_of(-1))]
    found = own_noise_by_bin(predict_window(noisy, remember(noisy, GRID, past)), noisy - truth)
    assert found[-1] > 8


def test_noisier_windows_are_passed_over_and_less_noise_teaches_fusion_nothing(noisy: np.ndarray) -> None:
    quiet, alike, louder, loud = (laplace_noise(scale) for scale in (4.0, 7.5, 9.5, 11.0))
    grids = [grid_of(-age) for age in (3, 2, 1)]
    assert choose_latest([*zip(grids, (alike, louder, loud), strict=True)], GRID, NOISE) == [0, 1]
    for noise, is_like in ((quiet, False), (alike, True), (louder, False)):
        windows = [EarlierWindow(noisy, NOISE, grids[0]), EarlierWindow(noisy, noise, grids[1])]
        assert PastEvidence(windows, noisy, NOISE, GRID).has_like_noise == is_like


def test_a_correction_has_its_past_though_that_has_less_noise(tmp_path: Path, truth: np.ndarray) -> None:
    noise = laplace_noise(16.0)
    noisy = truth + np.random.default_rng(5).laplace(0, noise.scale, truth.shape).astype(np.float32)
    windows = [EarlierWindow(of, NOISE, its) for of, its in usual_past(4, GRID)]
    settings, errors = DenoiseSettings(model="ridge"), []
    for past in (None, PastEvidence(windows, noisy, noise, GRID)):
        tensor, _ = denoise_tensor(noisy, noise, 8.0, settings, str(tmp_path), NullProgress(), past=past)
        errors.append(error(tensor.counts, truth))
    assert errors[1] < 0.85 * errors[0]


def test_of_a_year_of_weeks_the_latest_serve_as_many_as_there_is_room_for() -> None:
    """Whatever the number of windows: at the paper's cells four weeks of slices of 3 hours beside the present one."""
    week = grid_of(0, 56, 576)
    year = [(grid_of(-age, 56, 576), NOISE) for age in range(52, 0, -1)]
    assert choose_latest(year, week, NOISE) == [48, 49, 50, 51]
    small = [(grid_of(-age, 56, 96), NOISE) for age in range(52, 0, -1)]
    assert choose_latest(small, grid_of(0, 56, 96), NOISE) == [*range(52)]
    assert choose_latest(year, grid_of(0, 56 * 6, 576), NOISE) == []


@pytest.mark.parametrize("slices", [1, 2, 3])
def test_windows_of_few_slices_have_a_past_too(tmp_path: Path, slices: int) -> None:
    """Where a window is one slice, its past is all there is beside the cells around."""
    grid = grid_of(0, slices)
    truth = town(1, grid)
    noisy = with_noise(truth, seed=3)
    alone, _ = denoised(noisy, tmp_path / "alone", None)
    counts, _ = denoised(noisy, tmp_path / "past", remember(noisy, grid, usual_past(6, grid)))
    assert np.isfinite(counts).all()
    assert error(counts, truth) < error(alone, truth)


@pytest.mark.parametrize("value", [0.0, -4.0, 5e4])
def test_constant_windows(value: float) -> None:
    grid = grid_of(0, 3, 12)
    noisy = np.full(grid.shape, value, np.float32)
    prior = predict_window(noisy, remember(noisy, grid, [(noisy, grid_of(-1, 3, 12))]))
    assert np.isfinite(prior).all()
    assert (prior >= 0).all()
