"""In which precision, and how compiled, a network is trained: the loss is the same, and computed in float32."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from tests.denoise.networks.small_training import CONTINUOUS, SMALL, slices, train
from vdr_spark.config.denoise import AutoencoderSettings
from vdr_spark.denoise.networks import training as module
from vdr_spark.denoise.networks.autoencoder import Autoencoder
from vdr_spark.denoise.networks.training import read_training_log
from vdr_spark.errors import EnvironmentProblem

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU: on a CPU mixed precision is refused")
@pytest.mark.parametrize("settings", [SMALL, CONTINUOUS], ids=["vqvae", "vae"])
def test_mixed_precision_trains_as_well(tmp_path: Path, settings: AutoencoderSettings) -> None:
    gpu = torch.device("cuda")
    train(slices(), settings, tmp_path / "full", device=gpu)
    model = train(slices(), settings, tmp_path / "mixed", device=gpu, mixed=True)
    full, mixed = (read_training_log(str(tmp_path / name))[-1] for name in ("full", "mixed"))
    assert full["loss"] != mixed["loss"]
    assert mixed["loss"] == pytest.approx(full["loss"], rel=0.1)
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}


@pytest.mark.parametrize("mixed", [False, True])
def test_the_model_and_nothing_else_runs_in_the_precision_of_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mixed: bool
) -> None:
    """A stand-in of autocast: bfloat16 itself would kill the process on some processors."""
    asked, inside, forwards = [], [], []

    @contextmanager
    def autocast(device: torch.device, enabled: bool) -> Iterator[None]:
        asked.append((device.type, enabled))
        inside.append(True)
        yield
        inside.pop()

    forward, mse_loss = Autoencoder.forward, module.F.mse_loss

    def watched_forward(self, x):
        forwards.append(bool(inside))
        return forward(self, x)

    def watched_loss(*arguments, **settings):
        if not torch.is_inference_mode_enabled() and arguments[0].shape[1] == 1:  # not the quantiser's own
            assert not inside
        return mse_loss(*arguments, **settings)

    monkeypatch.setattr(module, "autocast", autocast)
    monkeypatch.setattr(Autoencoder, "forward", watched_forward)
    monkeypatch.setattr(module.F, "mse_loss", watched_loss)
    train(slices(), SMALL.model_copy(update={"epochs": 1, "crop_size": None}), tmp_path, mixed=mixed)
    assert set(asked) == {("cpu", mixed)}
    assert len(forwards) == len(asked) == 3
    assert all(forwards)


def test_the_loss_of_a_model_of_few_digits_is_computed_in_float32(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it reconstructs has few digits and, as float16, a range in which the sum of squares is infinite."""
    forward = Autoencoder.forward

    def coarse(self, x):
        output = forward(self, x)
        return output._replace(reconstruction=output.reconstruction.half())

    mse_loss, kinds = module.F.mse_loss, set()

    def watched_loss(made, *arguments, **settings):
        kinds.add(made.dtype)
        return mse_loss(made, *arguments, **settings)

    once = SMALL.model_copy(update={"epochs": 1})
    train(300 * slices(), once, tmp_path / "fine")
    monkeypatch.setattr(Autoencoder, "forward", coarse)
    monkeypatch.setattr(module.F, "mse_loss", watched_loss)
    train(300 * slices(), once, tmp_path / "coarse")
    fine, coarse_line = (read_training_log(str(tmp_path / name))[-1] for name in ("fine", "coarse"))
    assert coarse_line["reconstruction"] == pytest.approx(fine["reconstruction"], rel=0.01)
    assert coarse_line["reconstruction"] != fine["reconstruction"]
    assert kinds == {torch.float32}


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs a C++ compiler")
def test_a_compiled_model_trains_alike(tmp_path: Path) -> None:
    once = SMALL.model_copy(update={"epochs": 1, "batch_size": 12})
    train(slices(), once, tmp_path / "plain")
    train(slices(), once, tmp_path / "compiled", compiled=True)
    plain, compiled = (read_training_log(str(tmp_path / name))[-1] for name in ("plain", "compiled"))
    assert compiled["loss"] == pytest.approx(plain["loss"], rel=0.01)


def test_a_compiler_that_does_not_work_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "/nowhere/c++")
    monkeypatch.setattr("torch._inductor.config.cpp.cxx", ("/nowhere/c++",))
    with pytest.raises(EnvironmentProblem, match=r"denoise\.compile is true.*C\+\+ compiler.*false"):
        train(slices(), SMALL, tmp_path, compiled=True)
