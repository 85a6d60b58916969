"""The estimated accuracy of whole denoisers, beside the true one, and the choice that is made by it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_ridge import festival
from tests.denoise.priors.test_temporal import city
from tests.plans import grid_of, noise_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.estimation.accuracy import busyness
from vdr_spark.denoise.stage import denoise_tensor
from vdr_spark.denoise.statistics.subsets import evenly_spaced
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress

Small = Callable[..., ReleaseConfig]
CELLS = "grid.cells_per_side=60"


def add_noise(truth: np.ndarray, noise: Noise, seed: int) -> np.ndarray:
    return (truth + np.random.default_rng(seed).laplace(0, noise.scale, truth.shape).round()).astype(np.float32)


def denoised(noisy: np.ndarray, config: ReleaseConfig, folder: Path) -> tuple[np.ndarray, dict[str, object]]:
    noise, day = noise_of(config), grid_of(config).slices_per_day
    tensor, notes = denoise_tensor(noisy, noise, day, config.denoise, str(folder), NullProgress())
    return tensor.counts, notes


@pytest.mark.parametrize("model", ["temporal", "ridge"])
@pytest.mark.parametrize("fusion", [True, False])
@pytest.mark.parametrize("epsilon", [2, 10])
def test_it_tracks_the_true_error(small_config: Small, tmp_path: Path, model: str, fusion: bool, epsilon: int) -> None:
    config = small_config(
        f"denoise.model={model}", f"denoise.fusion={fusion}", f"privacy.epsilon={epsilon}", "privacy.budget=10", CELLS
    )
    truth, noise = festival(), noise_of(config)
    actual, estimated = [], []
    for seed in range(3):
        counts, notes = denoised(add_noise(truth, noise, seed), config, tmp_path)
        some = evenly_spaced(len(truth), 8)  # that the estimate looks at: one of all slices is not like the others
        actual.append(np.mean((counts - truth)[some] ** 2))
        estimated.append((notes["estimated_rmse"] or 0) ** 2)  # type: ignore[operator]
    assert np.mean(estimated) == pytest.approx(np.mean(actual), abs=0.03 * noise.variance, rel=0.25)


@pytest.mark.parametrize("truth", [festival(), 30 * city(8, 60), np.zeros((8, 60, 60), np.float32)])
@pytest.mark.parametrize("epsilon", [1, 10])
def test_the_choice_is_never_much_worse_than_the_best(
    small_config: Small, tmp_path: Path, truth: np.ndarray, epsilon: int
) -> None:
    overrides = (f"privacy.epsilon={epsilon}", "privacy.budget=10", CELLS)
    candidates = ["identity", "temporal", "ridge"]
    noisy = add_noise(truth, noise_of(small_config(*overrides)), seed=7)
    errors = {}
    for model in candidates:
        fusion = f"denoise.fusion={model != 'identity'}"
        counts, _ = denoised(noisy, small_config(f"denoise.model={model}", fusion, *overrides), tmp_path)
        errors[model] = np.mean((counts - truth) ** 2)
    auto = small_config("denoise.model=auto", f"denoise.candidates={candidates}", *overrides)
    counts, notes = denoised(noisy, auto, tmp_path)
    assert np.mean((counts - truth) ** 2) == pytest.approx(errors[notes["model"]])  # type: ignore[index]
    assert np.mean((counts - truth) ** 2) <= 1.15 * min(errors.values()) + 0.01 * errors["identity"]
    assert set(notes["estimated_errors"]) == set(candidates)  # type: ignore[call-overload]


def test_identity_is_as_bad_as_the_noise(small_config: Small, tmp_path: Path) -> None:
    config = small_config("denoise.model=identity", "denoise.fusion=false")
    noise = noise_of(config)
    _, notes = denoised(add_noise(city(4, 16), noise, 0), config, tmp_path)
    assert notes["estimated_rmse"] == pytest.approx(noise.variance**0.5)
    assert notes["estimated_busy_error"] == 1


@pytest.mark.training
def test_a_network_that_sees_the_cell_pays_for_it(small_config: Small, tmp_path: Path) -> None:
    """The plain autoencoder redraws much of the noise; judged by its residual alone it would look good."""
    network = "{epochs: 3, alpha: 0, channels: 16, checkpoint_every: 3}"
    config = small_config("denoise.model=vqvae", "denoise.fusion=false", f"denoise.vqvae={network}", CELLS)
    truth, noise = festival(), noise_of(config)
    noisy = add_noise(truth, noise, 0)
    counts, notes = denoised(noisy, config, tmp_path)
    actual = np.mean((counts - truth) ** 2)
    assert (notes["estimated_rmse"] or 0) ** 2 == pytest.approx(actual, rel=0.5, abs=0.1 * noise.variance)  # type: ignore[operator]


def test_busy_places_matter_and_empty_country_does_not() -> None:
    truth, noise = city(12, 40), laplace_noise(8.0)
    weights = busyness(add_noise(truth, noise, 0).sum(axis=0, dtype=np.float64), 12, noise)
    assert weights.mean() == pytest.approx(1, rel=1e-5)
    assert weights[8:12, 8:12].mean() > 10 * weights[30:, 30:].mean()
    assert (busyness(np.zeros((8, 8)), 3, noise) == 1).all()
