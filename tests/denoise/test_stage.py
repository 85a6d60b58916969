"""The whole of denoising, over a small town: what is noted, that it is repeatable, and how right its sums are."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.denoise.estimation.test_own_noise import listen
from tests.denoise.estimation.test_own_noise import town as quarter_in_empty_country
from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.priors.registry import PRIORS, Prior
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import SumErrors

NOISE = laplace_noise(8.0)
SHAPE = (8, 64, 64)


def town() -> np.ndarray:
    """Sea in the west, a few pings in the country, a town in its middle."""
    rows, columns = np.mgrid[: SHAPE[1], : SHAPE[2]]
    rate = np.where(columns > 20, 0.5, 0.0) + 20 * np.exp(-((rows - 32) ** 2 + (columns - 44) ** 2) / 60)
    rhythm = 1 + 0.5 * np.sin(np.arange(SHAPE[0]))
    return np.random.default_rng(0).poisson(rhythm[:, None, None] * rate).astype(np.float32)


def denoised(
    folder: Path, noisy: np.ndarray, noise: Noise = NOISE, **settings: object
) -> tuple[Tensor, dict[str, object]]:
    chosen = DenoiseSettings(**settings)  # type: ignore[arg-type]
    return denoise_tensor(noisy, noise, 4.0, chosen, str(folder), NullProgress())


@pytest.fixture(scope="module")
def noisy() -> np.ndarray:
    return with_noise(town())


@pytest.mark.parametrize("model", ["temporal", "ridge"])
def test_a_fused_estimate_knows_the_errors_of_its_sums_and_is_repeatable(
    tmp_path: Path, noisy: np.ndarray, model: str
) -> None:
    before = noisy.copy()
    tensor, notes = denoised(tmp_path, noisy, model=model)
    errors = SumErrors.from_notes(notes["sum_errors"])  # type: ignore[arg-type]
    assert errors.noise_deviation == NOISE.deviation
    assert {of.slices for of in errors.spreads} == {1, SHAPE[0]}
    assert (tensor.counts >= 0).all()
    again, notes_again = denoised(tmp_path, noisy, model=model)
    assert notes_again == notes
    for one, other in zip(vars(tensor).values(), vars(again).values(), strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(noisy, before)


def test_fusion_is_told_of_a_model_that_listens_to_the_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the noise that comes back in what the model says would be released as people."""
    truth = quarter_in_empty_country()
    listening = Prior(np.empty(0), {}, lambda task: listen(task.noisy), listen)
    monkeypatch.setitem(PRIORS, "vqvae", lambda task: replace(listening, mean=listen(task.noisy)))
    tensor, _ = denoised(tmp_path, under_noise(truth, NOISE), model="vqvae")
    assert tensor.counts.sum() < 1.3 * truth.sum()


def test_noisy_counts_and_bare_priors_know_none(tmp_path: Path, noisy: np.ndarray) -> None:
    tensor, notes = denoised(tmp_path, noisy, model="identity")
    assert "sum_errors" not in notes
    np.testing.assert_array_equal(tensor.counts, noisy)
    assert "sum_errors" not in denoised(tmp_path, noisy, model="temporal", fusion=False)[1]


def test_auto_keeps_the_errors_of_the_sums_of_the_model_it_chose(tmp_path: Path, noisy: np.ndarray) -> None:
    settings = {"model": "auto", "candidates": ["identity", "temporal"]}
    tensor, notes = denoised(tmp_path, noisy, **settings)
    alone, notes_alone = denoised(tmp_path, noisy, model="temporal")
    assert notes["model"] == "temporal"
    assert notes["sum_errors"] == notes_alone["sum_errors"]
    np.testing.assert_array_equal(tensor.counts, alone.counts)


@pytest.mark.parametrize(
    "noise",
    [NOISE, gaussian_noise(11.0), gaussian_noise(11.0, 2**20)],
    ids=["Laplace", "Gaussian", "Gaussian weights"],
)
def test_sums_are_right_and_so_are_their_error_bars(tmp_path: Path, noise: Noise) -> None:
    truth, within, shares = town(), [], []
    for seed in range(4):
        tensor, notes = denoised(tmp_path, under_noise(truth, noise, seed), noise, model="temporal")
        errors = SumErrors.from_notes(notes["sum_errors"])  # type: ignore[arg-type]
        shares.append(tensor.counts.sum() / truth.sum())
        assert tensor.deviation is not None
        for level in (Level(4, 1), Level(4, 8), Level(16, 1), Level(16, 8)):
            sums, own = level.sums(tensor.counts), level.sums(tensor.deviation**2)
            cells, slices = level.sums(np.ones(SHAPE)), np.full(sums.shape, float(level.slices))
            bars = np.sqrt(errors.variance(cells, slices, sums, own))
            people = level.sums(truth) > 0.2 * cells
            within.append(np.mean((abs(sums - level.sums(truth)) <= bars)[people]))
    assert np.mean(shares) == pytest.approx(1, abs=0.06)
    assert 0.6 < np.mean(within) < 0.95  # nominally 0.68
    assert min(np.reshape(within, (4, 4)).mean(axis=0)) > 0.5  # at every size


@pytest.mark.parametrize(("model", "sigma"), [("temporal", 1.0), ("temporal", 11.0), ("ridge", 11.0)])
def test_under_gaussian_noise_the_estimated_error_is_the_true_one(tmp_path: Path, model: str, sigma: float) -> None:
    truth, noise = town(), gaussian_noise(sigma)
    actual, estimated = [], []
    for seed in range(3):
        tensor, notes = denoised(tmp_path, under_noise(truth, noise, seed), noise, model=model)
        actual.append(np.mean((tensor.counts - truth) ** 2))
        estimated.append(float(notes["estimated_rmse"] or 0) ** 2)  # type: ignore[arg-type]
    assert np.mean(actual) < 0.7 * noise.variance
    assert np.mean(estimated) == pytest.approx(np.mean(actual), abs=0.03 * noise.variance, rel=0.25)
