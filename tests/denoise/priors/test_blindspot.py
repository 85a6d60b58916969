"""The network: blind, trained by likelihood, resumed after a kill."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_ridge import festival
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.config.denoise import BlindspotSettings
from vdr_spark.denoise.networks.training_log import read_training_log
from vdr_spark.denoise.networks.unet import BlindspotNetwork
from vdr_spark.denoise.priors import blindspot as module
from vdr_spark.denoise.priors.blindspot import predict_blindspot, train_blindspot
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.errors import CheckpointMismatch

NOISE = laplace_noise(8.0)
SMALL = BlindspotSettings(steps=3, batch_size=2, crop_size=16)
CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(autouse=True)
def short_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS_PER_EPOCH", 2)


def prior_of(noisy: np.ndarray, folder: Path, settings: BlindspotSettings = SMALL) -> np.ndarray:
    features = Features(noisy, NOISE, 4.0)
    ridge = fit_ridge(features, noisy, NOISE)
    network = train_blindspot(noisy, NOISE, features, ridge, settings, str(folder), CPU)
    return predict_blindspot(network, features, ridge, CPU)


def test_features_of_the_own_slice_do_not_travel_from_cell_to_cell() -> None:
    """A neighbour's features hold the cell's own noise: through them it would see itself."""
    torch.manual_seed(0)
    network = BlindspotNetwork(3, 2)
    torch.nn.init.normal_(network.last.weight)
    others, own = torch.randn(1, 3, 21, 21), torch.randn(1, 2, 21, 21)
    changed = own.clone()
    changed[..., 10, 10] += 5
    difference = (network(others, changed).mean - network(others, own).mean).abs()[0]
    assert difference[10, 10] > 0
    difference[10, 10] = 0
    assert difference.max() == 0


def test_a_new_network_leaves_the_ridge_regression_as_it_is(tmp_path: Path) -> None:
    noisy = with_noise(festival())
    untrained = prior_of(noisy, tmp_path, SMALL.model_copy(update={"learning_rate": 1e-12}))
    features = Features(noisy, NOISE, 4.0)
    ridge = ridge_prior(features, fit_ridge(features, noisy, NOISE))
    np.testing.assert_allclose(untrained, np.maximum(ridge, 1e-3), rtol=1e-3)


def test_it_corrects_without_learning_the_noise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STEPS_PER_EPOCH", 20)
    noisy = with_noise(festival())
    trained = prior_of(noisy, tmp_path, BlindspotSettings(steps=120, batch_size=4, crop_size=32, learning_rate=5e-3))
    losses = [line["loss"] for line in read_training_log(str(tmp_path))]
    assert len(losses) == 6
    assert np.isfinite(trained).all()
    features = Features(noisy, NOISE, 4.0)
    ridge = ridge_prior(features, fit_ridge(features, noisy, NOISE))
    errors = [np.mean((prior - festival()) ** 2) for prior in (trained, ridge)]
    assert errors[0] < 1.1 * errors[1]
    assert abs(trained - ridge).max() > 1  # it says something of its own
    learnt = 2 * np.mean((noisy - festival()) * (trained - festival()))
    assert abs(learnt) < 0.01 * NOISE.variance  # and of the noise nothing


def test_a_killed_training_continues_to_the_same_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noisy = with_noise(festival())
    unbroken = prior_of(noisy, tmp_path / "unbroken")
    epoch = module._train_epoch

    def killed(*arguments: object) -> float:
        if arguments[4] == 1:  # epochs done
            raise KeyboardInterrupt
        return epoch(*arguments)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(module, "_train_epoch", killed)
        with pytest.raises(KeyboardInterrupt):
            prior_of(noisy, tmp_path / "killed")
    assert len(read_training_log(str(tmp_path / "killed"))) == 1
    np.testing.assert_array_equal(prior_of(noisy, tmp_path / "killed"), unbroken)


def test_a_checkpoint_of_other_settings_is_refused(tmp_path: Path) -> None:
    noisy = with_noise(festival())
    prior_of(noisy, tmp_path)
    with pytest.raises(CheckpointMismatch, match="steps"):
        prior_of(noisy, tmp_path, SMALL.model_copy(update={"steps": 6}))


@pytest.mark.parametrize("shape", [(1, 10, 10), (2, 3, 3), (3, 17, 17)])
@pytest.mark.parametrize("value", [0.0, 300.0])
def test_any_shape_and_constant_tensors(tmp_path: Path, shape: tuple[int, int, int], value: float) -> None:
    prior = prior_of(np.full(shape, value, np.float32), tmp_path)
    assert prior.shape == shape
    assert np.isfinite(prior).all()
    assert (prior >= 0).all()
