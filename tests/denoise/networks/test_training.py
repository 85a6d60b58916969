import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from vdr_spark.config.denoise import AutoencoderSettings, VaeSettings, VqvaeSettings
from vdr_spark.denoise.networks import training as module
from vdr_spark.denoise.networks.autoencoder import Autoencoder
from vdr_spark.denoise.networks.training import LogLine, Run, is_finished, is_over, read_training_log
from vdr_spark.errors import CheckpointMismatch, EnvironmentProblem, InvalidConfig

SMALL = VqvaeSettings(
    epochs=4, batch_size=4, codebook_size=16, channels=8, resolutions=2, checkpoint_every=2, crop_size=16
)
CONTINUOUS = VaeSettings(epochs=4, batch_size=4, channels=8, resolutions=2, checkpoint_every=2, crop_size=16)

pytestmark = pytest.mark.usefixtures("one_thread")


def slices(seed: int = 0, side: int = 20) -> torch.Tensor:
    """Six noisy views of one bright road."""
    rng = np.random.default_rng(seed)
    city = np.zeros((side, side))
    city[side // 2] = 10
    return torch.tensor(city + rng.laplace(size=(6, side, side)), dtype=torch.float32)


def train(data: torch.Tensor, settings: AutoencoderSettings, folder: Path, *, measure=None, **run) -> Autoencoder:
    """By default every epoch is better than the one before, so that all of them are done."""
    better = iter(range(1000, 0, -1))
    fingerprint = str(float(data.sum()))
    return module.train(
        data, Run(settings, str(folder), **run), measure or (lambda _: float(next(better))), fingerprint
    )


def same_measure(model: Autoencoder) -> float:
    """One that depends on the model alone, as a resumed training needs it."""
    return model.eval()(slices()[:, None]).reconstruction.square().mean().item()


class Killed(Exception):
    pass


def killed_after(last: int):
    def progress(line: LogLine) -> None:
        if line["epoch"] == last:
            raise Killed

    return progress


def same(one: Autoencoder, other: Autoencoder) -> bool:
    pairs = zip(one.state_dict().values(), other.state_dict().values(), strict=True)
    return all(torch.equal(mine, yours) for mine, yours in pairs)


def lines(folder: Path) -> list[dict[str, float]]:
    """The log without its times, which differ from run to run."""
    log = read_training_log(str(folder))
    return [{key: line[key] for key in line if key not in ("seconds", "waiting_seconds")} for line in log]


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
            "perplexity",
            "dead_codes",
            "seconds",
            "waiting_seconds",
            "error",
        }
        assert 0 <= line["waiting_seconds"] < line["seconds"]
        assert line["perplexity"] <= 16 - line["dead_codes"] + 1e-6  # no more even than the codes in use


@pytest.mark.parametrize("settings", [SMALL, CONTINUOUS], ids=["vqvae", "vae"])
@pytest.mark.parametrize("last", [1, 2, 3])
def test_a_killed_run_continues_as_if_it_had_not_been_killed(
    tmp_path: Path, last: int, settings: AutoencoderSettings
) -> None:
    """Killed before the first checkpoint, at it, and an epoch after it."""
    unbroken = train(slices(), settings, tmp_path / "unbroken", measure=same_measure)
    with pytest.raises(Killed):
        train(slices(), settings, tmp_path / "killed", measure=same_measure, progress=killed_after(last))
    again: list[LogLine] = []
    torch.manual_seed(99)  # a new process would have another state of the global generator
    resumed = train(slices(), settings, tmp_path / "killed", measure=same_measure, progress=again.append)
    assert [line["epoch"] for line in again] == list(range(1 if last == 1 else 3, 5))
    assert same(resumed, unbroken)
    assert lines(tmp_path / "killed") == lines(tmp_path / "unbroken")


def test_a_finished_training_is_not_done_again(tmp_path: Path) -> None:
    assert not is_finished(Run(SMALL, str(tmp_path)))
    first = train(slices(), SMALL, tmp_path)
    assert is_finished(Run(SMALL, str(tmp_path)))
    second = train(slices(), SMALL, tmp_path, progress=killed_after(1))
    assert same(first, second)
    assert not second.training


def test_the_last_epoch_is_kept_also_between_checkpoints(tmp_path: Path) -> None:
    settings = SMALL.model_copy(update={"epochs": 3})
    train(slices(), settings, tmp_path)
    train(slices(), settings, tmp_path, progress=killed_after(3))


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


def test_a_lost_or_damaged_log_does_not_matter(tmp_path: Path) -> None:
    """It is for people. What a training continues from is in the checkpoint."""
    unbroken = train(slices(), SMALL, tmp_path / "unbroken", measure=same_measure)
    for number, damage in enumerate((None, '{"epoch": 1, "lo')):
        folder = tmp_path / str(number)
        with pytest.raises(Killed):
            train(slices(), SMALL, folder, measure=same_measure, progress=killed_after(3))
        log = folder / "training.jsonl"
        if damage is None:
            log.unlink()
        else:
            log.write_text(damage)
        assert same(unbroken, train(slices(), SMALL, folder, measure=same_measure))
        assert lines(folder) == lines(tmp_path / "unbroken")


def test_a_new_model_begins_at_the_mean_of_the_images(tmp_path: Path) -> None:
    still = SMALL.model_copy(update={"epochs": 1, "learning_rate": 1e-9})
    reconstructed = train(slices() + 100, still, tmp_path)(torch.zeros(1, 1, 16, 16)).reconstruction
    assert reconstructed.mean().item() == pytest.approx(100, abs=2)


def test_nothing_is_over_before_it_began() -> None:
    assert not is_over([], SMALL)


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
    train(slices(), SMALL.model_copy(update={"epochs": 1}), tmp_path, mixed=mixed)
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


def test_other_settings_or_another_tensor_are_refused(tmp_path: Path) -> None:
    train(slices(), SMALL, tmp_path)
    with pytest.raises(CheckpointMismatch, match="its codebook_size is 16, not 32"):
        train(slices(), SMALL.model_copy(update={"codebook_size": 32}), tmp_path)
    with pytest.raises(CheckpointMismatch, match="another noisy tensor"):
        train(slices(seed=1), SMALL, tmp_path)
    with pytest.raises(CheckpointMismatch, match="its model is vqvae, not vae"):
        train(slices(), CONTINUOUS, tmp_path)


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
