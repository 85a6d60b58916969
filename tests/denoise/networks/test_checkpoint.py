import json
from collections.abc import Callable
from pathlib import Path

import pytest
import safetensors.torch
import torch
from torch import nn
from torch.optim import Adam

from vdr_spark.denoise.networks import checkpoint as module
from vdr_spark.denoise.networks.checkpoint import (
    Identity,
    load_checkpoint,
    resume,
    save_checkpoint,
)
from vdr_spark.denoise.networks.training_log import read_training_log, write_training_log
from vdr_spark.errors import CheckpointMismatch

IDENTITY = Identity("vqvae", {"codebook_size": 128, "crop_size": None, "alpha": 1.0}, "fingerprint")

SEVEN = [{"epoch": epoch, "loss": 1 / epoch, "error": 0.5} for epoch in range(1, 8)]


def trained(seed: int = 0) -> tuple[nn.Module, Adam]:
    torch.manual_seed(seed)
    model = nn.Linear(3, 2)
    optimizer = Adam(model.parameters(), 0.1)
    _step(model, optimizer)
    return model, optimizer


def _step(model: nn.Module, optimizer: Adam) -> None:
    model(torch.arange(6.0).reshape(2, 3)).square().sum().backward()
    optimizer.step()
    optimizer.zero_grad()


def saved(folder: Path) -> None:
    model, optimizer = trained()
    save_checkpoint(str(folder), IDENTITY, SEVEN, model, optimizer, model.state_dict())


def test_weights_moments_and_epoch_come_back_bit_for_bit(tmp_path: Path) -> None:
    model, optimizer = trained()
    save_checkpoint(str(tmp_path), IDENTITY, SEVEN, model, optimizer, {k: v + 1 for k, v in model.state_dict().items()})
    other, its_optimizer = trained(seed=1)
    log, best = resume(str(tmp_path), IDENTITY, other, its_optimizer)
    assert log == SEVEN
    assert torch.equal(best["weight"], model.weight + 1)
    assert torch.equal(other.weight, model.weight)
    _step(model, optimizer)
    _step(other, its_optimizer)  # equal only if Adam's moments and step count came along
    assert torch.equal(other.weight, model.weight)


def test_an_empty_folder_starts_at_epoch_0(tmp_path: Path) -> None:
    model, optimizer = trained()
    before = model.weight.clone()
    log, best = resume(str(tmp_path / "nothing"), IDENTITY, model, optimizer)
    assert log == []
    assert torch.equal(best["weight"], before)
    assert torch.equal(model.weight, before)


@pytest.mark.parametrize(
    ("other", "sentence"),
    [
        (Identity("vae", IDENTITY.settings, IDENTITY.data), "its model is vqvae, not vae"),
        (Identity("vqvae", IDENTITY.settings | {"codebook_size": 64}, IDENTITY.data), "its codebook_size is 128"),
        (Identity("vqvae", IDENTITY.settings, "else"), "another noisy tensor"),
    ],
)
def test_a_checkpoint_of_another_training_is_refused(tmp_path: Path, other: Identity, sentence: str) -> None:
    saved(tmp_path)
    with pytest.raises(CheckpointMismatch, match=sentence):
        resume(str(tmp_path), other, *trained())


@pytest.mark.parametrize("keep", [0, 5, 100, -1])
def test_a_truncated_checkpoint_is_refused(tmp_path: Path, keep: int) -> None:
    saved(tmp_path)
    file = tmp_path / "checkpoint.safetensors"
    file.write_bytes(file.read_bytes()[:keep])
    with pytest.raises(CheckpointMismatch, match=r"damaged or truncated.*delete it"):
        load_checkpoint(str(tmp_path))


def test_safetensors_of_somebody_else_are_refused(tmp_path: Path) -> None:
    safetensors.torch.save_file({"weight": torch.ones(2)}, tmp_path / "checkpoint.safetensors")
    with pytest.raises(CheckpointMismatch, match="not written by this version"):
        load_checkpoint(str(tmp_path))


@pytest.mark.parametrize("model", [nn.Linear(3, 5), nn.Bilinear(1, 1, 1), nn.Sequential(nn.Linear(3, 2))])
def test_weights_that_do_not_fit_are_refused(tmp_path: Path, model: nn.Module) -> None:
    saved(tmp_path)
    with pytest.raises(CheckpointMismatch, match="do not fit"):
        resume(str(tmp_path), IDENTITY, model, Adam(model.parameters()))


def test_a_kill_while_writing_leaves_the_previous_checkpoint(tmp_path: Path, monkeypatch) -> None:
    model, optimizer = trained()
    save_checkpoint(str(tmp_path), IDENTITY, SEVEN[:1], model, optimizer, model.state_dict())
    honest: Callable = module.filesystem

    def dying(path: str):
        fs, inside = honest(path)

        class Dying(type(fs)):
            def pipe_file(self, name: str, content: bytes) -> None:
                Path(name).write_bytes(content[:50])
                raise KeyboardInterrupt

        return Dying(skip_instance_cache=True), inside

    monkeypatch.setattr(module, "filesystem", dying)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(str(tmp_path), IDENTITY, SEVEN[:2], model, optimizer, model.state_dict())
    monkeypatch.undo()
    loaded = load_checkpoint(str(tmp_path))
    assert loaded is not None
    assert loaded.log == SEVEN[:1]


def test_the_settings_are_in_the_file_for_any_reader(tmp_path: Path) -> None:
    saved(tmp_path)
    with safetensors.safe_open(tmp_path / "checkpoint.safetensors", "pt") as file:
        header = json.loads(file.metadata()["vdr"])
    assert header["settings"] == IDENTITY.settings
    assert (header["model"], header["log"]) == ("vqvae", SEVEN)


def test_the_log_comes_back_line_by_line(tmp_path: Path) -> None:
    assert read_training_log(str(tmp_path)) == []
    lines = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": 0.25}]
    write_training_log(str(tmp_path), lines)
    assert read_training_log(str(tmp_path)) == lines
    assert len((tmp_path / "training.jsonl").read_text().splitlines()) == 2
