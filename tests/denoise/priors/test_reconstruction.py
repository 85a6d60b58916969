from pathlib import Path

import numpy as np
import pytest
import torch

from tests.denoise.laplace import laplace_noise
from vdr_spark.config.denoise import AutoencoderSettings, VaeSettings, VqvaeSettings
from vdr_spark.denoise.networks.autoencoder import vae, vqvae
from vdr_spark.denoise.networks.training import Run, read_training_log
from vdr_spark.denoise.priors import reconstruction as module
from vdr_spark.denoise.priors.reconstruction import Reconstructor, Scaling, autoencoder_prior
from vdr_spark.errors import InvalidInput
from vdr_spark.privacy.mechanism import Noise

SMALL = VqvaeSettings(epochs=2, batch_size=4, codebook_size=16, channels=8, resolutions=2)
CONTINUOUS = VaeSettings(epochs=2, batch_size=4, channels=8, resolutions=2)
NOISE = laplace_noise(3.0)

pytestmark = pytest.mark.usefixtures("one_thread")


def prior(noisy: np.ndarray, settings: AutoencoderSettings, folder: Path, noise: Noise = NOISE) -> np.ndarray:
    return autoencoder_prior(noisy, noise, Run(settings, str(folder)))[0](noisy)


def noisy_city(slices: int, side: int, noise: float = 3.0) -> tuple[np.ndarray, np.ndarray]:
    """What is there (a bright square on dark ground), and the same under Laplace noise. (T, M, M) each"""
    rng = np.random.default_rng(0)
    true = np.full((slices, side, side), 0.5, dtype=np.float32)
    true[:, side // 4 : side // 2, side // 4 : side // 2] = 20
    return true, (true + rng.laplace(scale=noise, size=true.shape)).astype(np.float32)


def rms(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(difference**2)))


@pytest.mark.parametrize("asinh", [True, False])
@pytest.mark.parametrize("settings", [SMALL, CONTINUOUS], ids=["vqvae", "vae"])
def test_the_model_draws_what_repeats_and_not_the_noise(
    tmp_path: Path, settings: AutoencoderSettings, asinh: bool
) -> None:
    true, noisy = noisy_city(12, 24)
    change = {"epochs": 60, "learning_rate": 1e-3 if settings is SMALL else 2e-3, "channels": 16, "asinh": asinh}
    reconstructed = prior(noisy, settings.model_copy(update=change), tmp_path)
    assert rms(reconstructed - true) < 0.6 * rms(np.maximum(noisy, 0) - true)
    # What the log says about it without knowing the truth is about right.
    best = min(line["error"] for line in read_training_log(str(tmp_path)))
    assert best == pytest.approx(rms(reconstructed - true) ** 2 / NOISE.variance, abs=0.15)


@pytest.mark.parametrize("settings", [SMALL, CONTINUOUS], ids=["vqvae", "vae"])
@pytest.mark.parametrize(("slices", "side"), [(1, 16), (3, 18), (9, 33), (1, 2)])
def test_any_shape_gives_finite_counts_of_that_shape(
    tmp_path: Path, slices: int, side: int, settings: AutoencoderSettings
) -> None:
    _, noisy = noisy_city(slices, side)
    reconstructed = prior(noisy, settings, tmp_path)
    assert reconstructed.shape == noisy.shape
    assert reconstructed.dtype == np.float32
    assert np.isfinite(reconstructed).all()
    assert (reconstructed >= 0).all()


@pytest.mark.parametrize("value", [0, 7])
def test_a_constant_tensor_works(tmp_path: Path, value: float) -> None:
    reconstructed = prior(np.full((2, 16, 16), value, np.float32), SMALL, tmp_path)
    assert np.isfinite(reconstructed).all()


def test_alpha_0_is_an_autoencoder_that_still_learns(tmp_path: Path) -> None:
    """The paper's "R. focus": without its price, the bottleneck lets more of the noise through."""
    _, noisy = noisy_city(6, 16)
    change = {"epochs": 60, "learning_rate": 2e-3, "patience": None}
    near, far = (
        prior(noisy, CONTINUOUS.model_copy(update=change | {"alpha": alpha}), tmp_path / str(alpha))
        for alpha in (0.0, 0.3)
    )
    assert rms(near - noisy) < 0.8 * rms(noisy.mean() - noisy)
    assert rms(near - noisy) < rms(far - noisy)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_is_refused_before_training(tmp_path: Path, bad: float) -> None:
    _, noisy = noisy_city(2, 16)
    noisy[1, 3, 4] = bad
    with pytest.raises(InvalidInput, match="not finite"):
        prior(noisy, SMALL, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_noise_level_only_scales_the_result(tmp_path: Path) -> None:
    _, noisy = noisy_city(3, 16)
    once = prior(noisy, SMALL, tmp_path / "once", laplace_noise(300.0))
    thousandfold = prior(1024 * noisy, SMALL, tmp_path / "thousandfold", laplace_noise(1024 * 300.0))
    assert once.max() > 0
    np.testing.assert_allclose(thousandfold, 1024 * once, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("settings", [SMALL, CONTINUOUS], ids=["vqvae", "vae"])
def test_empty_country_does_not_end_the_training_before_it_has_learnt(
    tmp_path: Path, settings: AutoencoderSettings
) -> None:
    """A new model that drew only zeros once stood still for the measure, and was taken for the best."""
    rng = np.random.default_rng(0)
    noisy = (3 + rng.laplace(scale=5, size=(1, 32, 32))).astype(np.float32)
    patient = settings.model_copy(update={"epochs": 60, "patience": 10})
    reconstructed = prior(noisy, patient, tmp_path, laplace_noise(5.0))
    assert rms(reconstructed - 3) ** 2 < 0.1 * laplace_noise(5.0).variance


def test_a_second_call_reuses_the_training_and_draws_the_same(tmp_path: Path) -> None:
    _, noisy = noisy_city(3, 16)
    first, notes = autoencoder_prior(noisy, NOISE, Run(SMALL, str(tmp_path)))
    trained_again: list[object] = []
    second, again = autoencoder_prior(noisy, NOISE, Run(SMALL, str(tmp_path), progress=trained_again.append))
    assert trained_again == []
    assert notes == again
    assert notes["epochs"] == 2
    np.testing.assert_array_equal(first(noisy), second(noisy))


def test_slices_are_reconstructed_alike_in_batches_of_any_size_and_leave_the_codebook_alone(tmp_path: Path) -> None:
    model = vqvae(codebook_size=16, channels=8)
    codebook = model.bottleneck.codebook.clone()
    _, noisy = noisy_city(5, 16)
    scaling = Scaling.of(noisy, NOISE, True)
    one_by_one, in_pairs = (
        Reconstructor(model, scaling, Run(SMALL.model_copy(update={"batch_size": batch}), str(tmp_path))).reconstruct(
            noisy
        )
        for batch in (1, 2)
    )
    np.testing.assert_allclose(one_by_one, in_pairs, rtol=1e-4, atol=1e-4)
    assert torch.equal(model.bottleneck.codebook, codebook)


def test_a_slice_by_the_numbers_of_its_codes(tmp_path: Path) -> None:
    _, noisy = noisy_city(1, 18)
    scaling, run = Scaling.of(noisy, NOISE, True), Run(SMALL, str(tmp_path))
    codes = Reconstructor(vqvae(codebook_size=16, channels=8), scaling, run).codes(noisy[0])
    assert codes is not None
    assert codes.shape == (5, 5)
    assert codes.max() < 16
    assert Reconstructor(vae(channels=8), scaling, run).codes(noisy[0]) is None


@pytest.mark.parametrize("asinh", [True, False])
@pytest.mark.parametrize("noise", [laplace_noise(3.0), laplace_noise(1e-5), laplace_noise(1e4)])
def test_scaling_there_and_back_gives_the_counts(asinh: bool, noise: Noise) -> None:
    counts = np.array([[[0, 1, 7], [30, 5000, 2]]], np.float32)
    scaling = Scaling.of(counts, noise, asinh)
    np.testing.assert_allclose(scaling.unscale(scaling.scale(counts)), counts, rtol=1e-4, atol=1e-3)


def test_a_wild_guess_of_the_network_stays_a_count() -> None:
    counts = np.array([[[0, 100.0]]], np.float32)
    scaling = Scaling.of(counts, NOISE, True)
    wild = scaling.unscale(torch.tensor([-1e9, 1e9]))
    assert -1000 < wild[0] < -100
    assert 100 < wild[1] < 1000


@pytest.mark.parametrize(
    ("slices", "share", "expected"), [(7, 0.1, 0), (8, 0.1, 1), (96, 0.1, 10), (96, 0, 0), (8, 0.99, 7)]
)
def test_slices_are_held_out_where_they_can_be_spared(slices: int, share: float, expected: int) -> None:
    held_out = module.validation_slices(slices, share)
    assert len(held_out) == len(np.unique(held_out)) == expected
    assert all(0 <= number < slices for number in held_out)


def test_the_model_does_not_learn_from_what_is_held_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def watched(slices: torch.Tensor, *_: object) -> torch.nn.Module:
        seen.append(len(slices))
        raise InterruptedError

    monkeypatch.setattr(module, "train", watched)
    with pytest.raises(InterruptedError):
        prior(noisy_city(20, 8)[1], SMALL, tmp_path)
    assert seen == [18]
