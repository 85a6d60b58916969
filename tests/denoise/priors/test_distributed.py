"""Two processes, started as Spark starts them, train the model that one process would."""

import pickle
from pathlib import Path
from typing import NoReturn

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from vdr_spark.config.denoise import DenoiseSettings, VqvaeSettings
from vdr_spark.denoise.networks.checkpoint import load_checkpoint
from vdr_spark.denoise.networks.training import LogLine, Run, is_finished, read_training_log
from vdr_spark.denoise.priors.distributed import train_distributed
from vdr_spark.denoise.priors.reconstruction import autoencoder_prior
from vdr_spark.errors import CheckpointMismatch, EnvironmentProblem, VdrError
from vdr_spark.spark.torch_launcher import launch_with_spark

NOISE = laplace_noise(2.0)
TWO = DenoiseSettings(model="vqvae", device="cpu", processes=2)
# Five images in batches of three: the parts are unequal, and in the last batch one process may have none.
COMMON = {"epochs": 3, "batch_size": 3, "channels": 8, "resolutions": 1, "checkpoint_every": 2, "learning_rate": 1e-3}


def noisy_city() -> np.ndarray:
    random = np.random.default_rng(0)
    city = np.zeros((5, 16, 16))
    city[:, 8] = 30
    return (city + random.laplace(scale=2, size=city.shape)).astype(np.float32)


def lines(folder: Path) -> list[LogLine]:
    log = read_training_log(str(folder))
    return [{key: value for key, value in line.items() if key not in ("seconds", "waiting_seconds")} for line in log]


@pytest.mark.usefixtures("spark")
def test_two_processes_train_what_one_would(tmp_path: Path) -> None:
    settings = VqvaeSettings(codebook_size=8, **COMMON)
    noisy = noisy_city()
    alone, _ = autoencoder_prior(noisy, NOISE, Run(settings, str(tmp_path / "alone")))
    reported: list[LogLine] = []
    run = Run(settings, str(tmp_path / "together"), progress=reported.append)
    train_distributed(noisy, NOISE, run, TWO, launch_with_spark)
    assert is_finished(run)
    for ours, theirs in zip(lines(tmp_path / "together"), lines(tmp_path / "alone"), strict=True):
        assert ours == pytest.approx(theirs, rel=2e-3, abs=2e-3)
    together, _ = autoencoder_prior(noisy, NOISE, run)
    agree = np.isclose(together(noisy), alone(noisy), rtol=1e-3, atol=1e-3)
    assert agree.mean() > 0.7  # a vector half-way between two codes goes to either, and its cells with it
    assert [line["epoch"] for line in reported] == [1, 2, 3]


def refuse(*_: object) -> NoReturn:
    raise AssertionError("a process was started")


@pytest.mark.training
def test_a_finished_training_starts_no_process(tmp_path: Path) -> None:
    settings = VqvaeSettings(codebook_size=8, **COMMON)
    run = Run(settings, str(tmp_path))
    autoencoder_prior(noisy_city(), NOISE, run)
    train_distributed(noisy_city(), NOISE, run, TWO, refuse)


@pytest.mark.usefixtures("spark")
def test_a_mistake_comes_back_as_a_sentence(tmp_path: Path) -> None:
    short = VqvaeSettings(codebook_size=8, **COMMON)
    autoencoder_prior(noisy_city(), NOISE, Run(short, str(tmp_path)))
    other = Run(short.model_copy(update={"epochs": 9}), str(tmp_path))
    with pytest.raises(CheckpointMismatch, match="its epochs is 3, not 9"):
        train_distributed(noisy_city(), NOISE, other, TWO, launch_with_spark)
    kept = load_checkpoint(str(tmp_path))
    assert kept is not None
    assert len(kept.log) == 3


def test_processes_that_end_early_are_a_sentence(tmp_path: Path) -> None:
    def die(*_: object) -> NoReturn:
        raise RuntimeError("a trace\nrank 1 was killed")

    run = Run(VqvaeSettings(codebook_size=8, **COMMON), str(tmp_path))
    with pytest.raises(EnvironmentProblem, match=r"2 training processes ended early \(rank 1 was killed\)"):
        train_distributed(noisy_city(), NOISE, run, TWO, die)


def test_what_is_launched_can_travel_and_gives_the_mistake_back(tmp_path: Path) -> None:
    """Without a cluster: function and argument are pickled, as every launcher must."""
    launched: list[tuple[int, bool]] = []

    def launch(function, work, processes: int, on_executors: bool) -> VdrError:
        assert pickle.loads(pickle.dumps((function, work)))[1] == work
        launched.append((processes, on_executors))
        return CheckpointMismatch("as rank 0 returned it")

    run = Run(VqvaeSettings(codebook_size=8, **COMMON), str(tmp_path))
    on_executors = TWO.model_copy(update={"processes_on": "executors"})
    with pytest.raises(CheckpointMismatch, match="as rank 0 returned it"):
        train_distributed(noisy_city(), NOISE, run, on_executors, launch)
    assert launched == [(2, True)]


def test_without_anybody_to_start_them_several_processes_are_refused(tmp_path: Path) -> None:
    run = Run(VqvaeSettings(codebook_size=8, **COMMON), str(tmp_path))
    with pytest.raises(EnvironmentProblem, match=r"denoise\.processes is 2, but nothing here can start processes"):
        train_distributed(noisy_city(), NOISE, run, TWO, None)
