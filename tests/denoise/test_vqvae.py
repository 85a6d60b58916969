from pathlib import Path

import numpy as np
import pytest
import torch

from vdr_spark.config.settings import VqvaeSettings
from vdr_spark.denoise import vqvae as module
from vdr_spark.denoise.vqvae import reconstruct, vqvae_prior
from vdr_spark.errors import EnvironmentProblem, InvalidInput

SMALL = VqvaeSettings(epochs=2, batch=4, codes=16, channels=8, resolutions=2)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def silent(epoch: int, epochs: int, loss: float) -> None:
    pass


def noisy_city(slices: int, side: int, noise: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """What is there (a bright square on dark ground), and the same under Laplace noise. (T, M, M) each"""
    rng = np.random.default_rng(0)
    true = np.full((slices, side, side), 0.5, dtype=np.float32)
    true[:, side // 4 : side // 2, side // 4 : side // 2] = 20
    return true, (true + rng.laplace(scale=noise, size=true.shape)).astype(np.float32)


def rms(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference**2)))


def test_the_model_draws_what_repeats_and_not_the_noise(tmp_path: Path) -> None:
    true, noisy = noisy_city(12, 24)
    settings = SMALL.model_copy(update={"epochs": 60, "learning_rate": 2e-3, "channels": 16})
    drawn = vqvae_prior(noisy, settings, "cpu", str(tmp_path), silent)
    assert rms(drawn - true) < 0.6 * rms(np.maximum(noisy, 0) - true)


@pytest.mark.parametrize(("slices", "side"), [(1, 16), (3, 18), (5, 33), (1, 2)])
def test_any_shape_gives_finite_counts_of_that_shape(tmp_path: Path, slices: int, side: int) -> None:
    _, noisy = noisy_city(slices, side)
    drawn = vqvae_prior(noisy, SMALL, "cpu", str(tmp_path), silent)
    assert drawn.shape == noisy.shape
    assert drawn.dtype == np.float32
    assert np.isfinite(drawn).all()
    assert (drawn >= 0).all()


@pytest.mark.parametrize("value", [0, 7])
def test_a_constant_tensor_works(tmp_path: Path, value: float) -> None:
    drawn = vqvae_prior(np.full((2, 16, 16), value, np.float32), SMALL, "cpu", str(tmp_path), silent)
    assert np.isfinite(drawn).all()


def test_alpha_0_is_an_autoencoder_that_still_learns(tmp_path: Path) -> None:
    _, noisy = noisy_city(6, 16)
    settings = SMALL.model_copy(update={"alpha": 0.0, "epochs": 60, "learning_rate": 2e-3})
    drawn = vqvae_prior(noisy, settings, "cpu", str(tmp_path), silent)
    assert rms(drawn - noisy) < 0.8 * rms(noisy.mean() - noisy)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_refused_before_training(tmp_path: Path, bad: float) -> None:
    _, noisy = noisy_city(2, 16)
    noisy[1, 3, 4] = bad
    with pytest.raises(InvalidInput, match="not finite"):
        vqvae_prior(noisy, SMALL, "cpu", str(tmp_path / "run"), silent)
    assert not (tmp_path / "run").exists()


def test_the_noise_level_only_scales_the_result(tmp_path: Path) -> None:
    _, noisy = noisy_city(3, 16)
    once = vqvae_prior(noisy, SMALL, "cpu", str(tmp_path / "once"), silent)
    thousandfold = vqvae_prior(1024 * noisy, SMALL, "cpu", str(tmp_path / "thousandfold"), silent)
    assert once.max() > 0
    np.testing.assert_allclose(thousandfold, 1024 * once, rtol=1e-3, atol=1e-3)


def test_a_second_call_reuses_the_training_and_draws_the_same(tmp_path: Path) -> None:
    _, noisy = noisy_city(3, 16)
    first = vqvae_prior(noisy, SMALL, "cpu", str(tmp_path), silent)
    trained_again = []
    second = vqvae_prior(noisy, SMALL, "cpu", str(tmp_path), lambda *news: trained_again.append(news))
    assert trained_again == []
    np.testing.assert_array_equal(first, second)


def test_slices_are_drawn_alike_in_batches_of_any_size_and_leave_the_codebook_alone() -> None:
    model = module.Vqvae(codes=16, channels=8)
    codebook = model.quantizer.codebook.clone()
    slices = torch.randn(5, 16, 16)
    one_by_one = reconstruct(model, slices, 1, torch.device("cpu"))
    in_pairs = reconstruct(model, slices, 2, torch.device("cpu"))
    torch.testing.assert_close(one_by_one, in_pairs)
    assert torch.equal(model.quantizer.codebook, codebook)


def test_a_gpu_that_is_not_there_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(EnvironmentProblem, match="cuda"):
        vqvae_prior(np.zeros((1, 16, 16), np.float32), SMALL, "cuda", str(tmp_path), silent)
