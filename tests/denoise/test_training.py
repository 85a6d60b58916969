from pathlib import Path

import numpy as np
import pytest
import torch

from vdr_spark.config.settings import VqvaeSettings
from vdr_spark.denoise import training as module
from vdr_spark.denoise.models.vqvae import Vqvae
from vdr_spark.denoise.training import random_crops, read_training_log, train
from vdr_spark.errors import CheckpointMismatch, InvalidConfig

CPU = torch.device("cpu")
SMALL = VqvaeSettings(epochs=4, batch=4, codes=16, channels=8, resolutions=2, checkpoint_every=2, crop=16)


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def slices(seed: int = 0, side: int = 20) -> torch.Tensor:
    """Six noisy views of one bright road."""
    rng = np.random.default_rng(seed)
    city = np.zeros((side, side))
    city[side // 2] = 10
    return torch.tensor(city + rng.laplace(size=(6, side, side)), dtype=torch.float32)


def silent(epoch: int, epochs: int, loss: float) -> None:
    pass


class Killed(Exception):
    pass


def killed_after(last: int):
    def progress(epoch: int, *_: float) -> None:
        if epoch == last:
            raise Killed

    return progress


def same(one: Vqvae, other: Vqvae) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(mine, yours) for mine, yours in pairs)


def lines(folder: Path) -> list[dict[str, float]]:
    """The log without its times, which differ from run to run."""
    return [{key: line[key] for key in line if key != "seconds"} for line in read_training_log(str(folder))]


def test_training_lowers_the_loss(tmp_path: Path) -> None:
    eager = SMALL.model_copy(update={"epochs": 60, "learning_rate": 3e-3, "channels": 32})
    train(slices(), eager, CPU, str(tmp_path), silent)
    log = read_training_log(str(tmp_path))
    assert log[-1]["reconstruction"] < 0.6 * log[0]["reconstruction"]


def test_the_log_has_a_line_an_epoch(tmp_path: Path) -> None:
    told = []
    train(slices(), SMALL, CPU, str(tmp_path), lambda *news: told.append(news))
    log = read_training_log(str(tmp_path))
    assert [line["epoch"] for line in log] == [1, 2, 3, 4]
    assert told == [(line["epoch"], 4, line["loss"]) for line in log]
    for line in log:
        assert set(line) == {"epoch", "loss", "reconstruction", "perplexity", "dead_codes", "seconds"}
        assert line["seconds"] > 0
        assert line["perplexity"] <= 16 - line["dead_codes"] + 1e-6  # no more even than the codes in use


@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_killed_run_continues_as_if_it_had_not_been_killed(tmp_path: Path, last: int) -> None:
    """Killed before the first checkpoint, at it, and an epoch after it."""
    unbroken = train(slices(), SMALL, CPU, str(tmp_path / "unbroken"), silent)
    with pytest.raises(Killed):
        train(slices(), SMALL, CPU, str(tmp_path / "killed"), killed_after(last))
    done_again = []
    torch.manual_seed(99)  # a new process would have another state of the global generator
    resumed = train(slices(), SMALL, CPU, str(tmp_path / "killed"), lambda e, *_: done_again.append(e))
    assert done_again == list(range(1 if last == 1 else 3, 5))
    assert same(resumed, unbroken)
    assert lines(tmp_path / "killed") == lines(tmp_path / "unbroken")


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    first = train(slices(), SMALL, CPU, str(tmp_path), silent)
    second = train(slices(), SMALL, CPU, str(tmp_path), killed_after(1))
    assert same(first, second)
    assert not second.training


def test_the_last_epoch_is_kept_also_between_checkpoints(tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"epochs": 3})
    train(slices(), settings, CPU, str(tmp_path), silent)
    train(slices(), settings, CPU, str(tmp_path), killed_after(3))


def test_the_seed_decides(tmp_path: Path) -> None:
    models = [
        train(slices(), SMALL.model_copy(update={"seed": seed}), CPU, str(tmp_path / name), silent)
        for name, seed in [("a", 5), ("b", 5), ("c", 2**80)]
    ]
    assert same(models[0], models[1])
    assert not same(models[0], models[2])


def test_the_caller_s_random_numbers_are_left_alone(tmp_path: Path) -> None:
    torch.manual_seed(3)
    expected = torch.rand(4)
    torch.manual_seed(3)
    train(slices(), SMALL, CPU, str(tmp_path), silent)
    assert torch.equal(torch.rand(4), expected)


def test_other_settings_or_another_tensor_are_refused(tmp_path: Path) -> None:
    train(slices(), SMALL, CPU, str(tmp_path), silent)
    with pytest.raises(CheckpointMismatch, match="its codes is 16, not 32"):
        train(slices(), SMALL.model_copy(update={"codes": 32}), CPU, str(tmp_path), silent)
    with pytest.raises(CheckpointMismatch, match="another noisy tensor"):
        train(slices(seed=1), SMALL, CPU, str(tmp_path), silent)


def test_the_loss_weighs_regularisation_by_alpha_and_reconstruction_by_the_variance(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One batch of whole slices: the log's first line is what the new model makes of them."""
    seen = {}

    class Watched(Vqvae):
        def forward(self, x):
            output = super().forward(x)
            seen["reconstruction"] = torch.mean((output.reconstruction - x) ** 2).item()
            seen["regularisation"] = output.regularisation.item()
            return output

    monkeypatch.setattr(module, "Vqvae", Watched)
    data = 5 * slices()
    for alpha in (0.0, 3.0):
        whole = SMALL.model_copy(update={"alpha": alpha, "epochs": 1, "batch": 6, "crop": None, "resolutions": 1})
        train(data, whole, CPU, str(tmp_path / str(alpha)), silent)
        (line,) = read_training_log(str(tmp_path / str(alpha)))
        relative = seen["reconstruction"] / data.numpy().var()
        assert seen["regularisation"] > 0
        assert line["reconstruction"] == pytest.approx(relative, rel=1e-4)
        assert line["loss"] == pytest.approx(alpha * seen["regularisation"] + relative, rel=1e-4)


def test_every_resolution_is_trained_on_and_every_image_once_an_epoch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fed = []

    class Watched(Vqvae):
        def forward(self, x):
            fed.append(x)
            return super().forward(x)

    monkeypatch.setattr(module, "Vqvae", Watched)
    whole = SMALL.model_copy(update={"epochs": 1, "crop": None, "resolutions": 3})
    train(slices(), whole, CPU, str(tmp_path), silent)
    images = torch.cat(fed)[:, 0]  # (18, 20, 20)
    expected = module.multiresolution(slices(), 3)
    matches = [[torch.equal(image, wanted) for image in images] for wanted in expected]
    assert np.array(matches).sum(0).tolist() == [1] * 18
    assert np.array(matches).sum(1).tolist() == [1] * 18


def test_crops_are_squares_of_their_image_at_different_places() -> None:
    torch.manual_seed(0)
    image = torch.arange(100.0).reshape(1, 10, 10)
    crops = random_crops(image.repeat(200, 1, 1), 7)
    assert crops.shape == (200, 7, 7)
    corners = crops[:, 0, 0].long()
    for crop, corner in zip(crops, corners.tolist(), strict=True):
        y, x = divmod(corner, 10)
        assert torch.equal(crop, image[0, y : y + 7, x : x + 7])
    assert set(corners.tolist()) == {10 * y + x for y in range(4) for x in range(4)}


@pytest.mark.parametrize("side", [None, 10, 64])
def test_whole_images_where_the_crop_is_not_smaller(side: int | None) -> None:
    images = torch.randn(2, 10, 10)
    assert torch.equal(random_crops(images, side), images)


def test_a_training_that_diverges_says_so(tmp_path: Path) -> None:
    wild = SMALL.model_copy(update={"learning_rate": 1e20})
    with pytest.raises(InvalidConfig, match=r"diverged in epoch \d.*learning_rate"):
        train(slices(), wild, CPU, str(tmp_path), silent)
