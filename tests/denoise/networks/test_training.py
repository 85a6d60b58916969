"""The loop: what it minimises, what it is fed, when it ends, and what it leaves."""

from pathlib import Path

import numpy as np
import pytest
import torch

from tests.denoise.networks.small_training import SMALL, same, slices, train
from vdr_spark.denoise.networks import training as module
from vdr_spark.denoise.networks.autoencoder import Autoencoder
from vdr_spark.denoise.networks.training import (
    LogLine,
    Run,
    is_finished,
    is_over,
    read_training_log,
    share_of_rate,
)
from vdr_spark.errors import InvalidConfig

pytestmark = pytest.mark.usefixtures("one_thread")


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    eager = SMALL.model_copy(update={"epochs": 60, "learning_rate": 3e-3, "channels": 32})
    train(slices(), eager, tmp_path)
    log = read_training_log(str(tmp_path))
    assert log[-1]["reconstruction"] < 0.6 * log[0]["reconstruction"]


def test_the_log_has_a_line_an_epoch(tmp_path: Path) -> None:
    reported: list[LogLine] = []
    train(slices(), SMALL, tmp_path, progress=reported.append)
    log = read_training_log(str(tmp_path))
    assert [line["epoch"] for line in log] == [1, 2, 3, 4]
    assert reported == log
    for line in log:
        assert {*line} == {
            "epoch",
            "loss",
            "reconstruction",
            "pixels",
            "perplexity",
            "dead_codes",
            "seconds",
            "waiting_seconds",
            "error",
        }
        assert 0 <= line["waiting_seconds"] < line["seconds"]
        assert line["perplexity"] <= 16 - line["dead_codes"] + 1e-6  # no more even than the codes in use


def test_the_best_epoch_s_weights_are_the_result(tmp_path: Path) -> None:
    """By the measure; also where the training is taken up after its end."""
    seen = []

    def measure(model: Autoencoder) -> float:
        seen.append({name: tensor.clone() for name, tensor in model.state_dict().items()})
        return [5.0, 2.0, 3.0, 2.5][len(seen) - 1]

    model = train(slices(), SMALL, tmp_path, measure=measure)
    assert all(torch.equal(model.state_dict()[name], tensor) for name, tensor in seen[1].items())
    assert same(model, train(slices(), SMALL, tmp_path, measure=measure))
    assert len(seen) == 4


@pytest.mark.parametrize(
    ("errors", "patience", "epochs"),
    [
        ([3, 2, 2.5, 2.4, 2.3, 1], 3, 5),  # the second stays the best for three more
        ([3, 2, 2.5, 2.4, 1.9, 1.8, 1.7, 1.6], 3, 8),
        ([1, 2, 3, 4, 5, 6, 7, 8], None, 8),
        ([1, 2], 1, 2),
        ([1, 1, 1, 1, 1, 2, 2], 2, 7),  # of equals the last is the best
    ],
)
def test_training_ends_when_the_measure_no_longer_improves(
    tmp_path: Path, errors: list[float], patience: int | None, epochs: int
) -> None:
    settings = SMALL.model_copy(update={"epochs": 8, "patience": patience})
    measured = iter(errors)
    train(slices(), settings, tmp_path, measure=lambda _: next(measured))
    assert len(read_training_log(str(tmp_path))) == epochs
    assert is_finished(Run(settings, str(tmp_path)))


def test_a_new_model_begins_at_the_mean_of_the_images(tmp_path: Path) -> None:
    still = SMALL.model_copy(update={"epochs": 1, "learning_rate": 1e-9})
    reconstructed = train(slices() + 100, still, tmp_path)(torch.zeros(1, 1, 16, 16)).reconstruction
    assert reconstructed.mean().item() == pytest.approx(100, abs=2)


def test_nothing_is_over_before_it_began() -> None:
    assert not is_over([], SMALL)


def test_the_seed_decides(tmp_path: Path) -> None:
    models = [
        train(slices(), SMALL.model_copy(update={"seed": seed}), tmp_path / name)
        for name, seed in [("a", 5), ("b", 5), ("c", 2**80)]
    ]
    assert same(models[0], models[1])
    assert not same(models[0], models[2])


def test_the_caller_s_random_numbers_are_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    train(slices(), SMALL, tmp_path)
    assert torch.equal(torch.rand(4), expected)


def test_the_loss_weighs_regularisation_by_alpha_and_reconstruction_by_the_variance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch of whole slices: the log's first line is what the new model makes of them."""
    seen = {}

    forward = Autoencoder.forward

    def watched(self, x):
        output = forward(self, x)
        seen["reconstruction"] = torch.mean((output.reconstruction - x) ** 2).item()
        seen["regularisation"] = output.regularisation.item()
        return output

    monkeypatch.setattr(Autoencoder, "forward", watched)
    data = 5 * slices()
    for alpha in (0.0, 3.0):
        whole = SMALL.model_copy(
            update={"alpha": alpha, "epochs": 1, "batch_size": 6, "crop_size": None, "resolutions": 1}
        )
        train(data, whole, tmp_path / str(alpha))
        (line,) = read_training_log(str(tmp_path / str(alpha)))
        relative = seen["reconstruction"] / data.numpy().var()
        assert seen["regularisation"] > 0
        assert line["reconstruction"] == pytest.approx(relative, rel=1e-4)
        assert line["loss"] == pytest.approx(alpha * seen["regularisation"] + relative, rel=1e-4)


def test_every_resolution_is_trained_on_and_every_image_once_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed = []

    forward = Autoencoder.forward

    def watched(self, x):
        fed.append(x)
        return forward(self, x)

    monkeypatch.setattr(Autoencoder, "forward", watched)
    whole = SMALL.model_copy(update={"epochs": 1, "crop_size": None, "resolutions": 3})
    train(slices(), whole, tmp_path)
    images = torch.cat(fed)[:, 0]  # (18, 20, 20)
    expected = module.stack_resolutions(slices(), 3)
    matches = [[torch.equal(image, wanted) for image in images] for wanted in expected]
    assert np.array(matches).sum(0).tolist() == [1] * 18
    assert np.array(matches).sum(1).tolist() == [1] * 18


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    wild = SMALL.model_copy(update={"learning_rate": 1e20})
    with pytest.raises(InvalidConfig, match=r"diverged in epoch \d.*learning_rate"):
        train(slices(), wild, tmp_path)


def test_the_learning_rate_rises_quickly_and_falls_along_a_cosine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates = []
    step = module.Adam.step

    def watched(self, *arguments):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *arguments)

    monkeypatch.setattr(module.Adam, "step", watched)
    whole = SMALL.model_copy(update={"epochs": 10, "batch_size": 6, "crop_size": None, "learning_rate": 0.01})
    train(slices(), whole, tmp_path)
    np.testing.assert_allclose(rates, [0.01 * share_of_rate(step / 20) for step in range(20)])
    assert 0 < rates[0] < rates[1]
    assert rates[1] == max(rates) == pytest.approx(0.01, rel=0.01)
    assert rates[10] == pytest.approx(0.005)
    assert rates[-1] < 0.0001
