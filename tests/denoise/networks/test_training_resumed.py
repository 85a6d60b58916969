"""A training that was killed goes on as if it had not been; one that is finished, or another's, is told."""

from pathlib import Path

import pytest
import torch

from tests.denoise.networks.small_training import (
    CONTINUOUS,
    SMALL,
    Killed,
    killed_after,
    lines,
    same,
    same_measure,
    slices,
    train,
)
from vdr_spark.config.denoise import AutoencoderSettings
from vdr_spark.denoise.networks.training import LogLine, Run, is_finished
from vdr_spark.errors import CheckpointMismatch

pytestmark = pytest.mark.usefixtures("one_thread")


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


def test_other_settings_or_another_tensor_are_refused(tmp_path: Path) -> None:
    train(slices(), SMALL, tmp_path)
    with pytest.raises(CheckpointMismatch, match="its codebook_size is 16, not 32"):
        train(slices(), SMALL.model_copy(update={"codebook_size": 32}), tmp_path)
    with pytest.raises(CheckpointMismatch, match="another noisy tensor"):
        train(slices(seed=1), SMALL, tmp_path)
    with pytest.raises(CheckpointMismatch, match="its model is vqvae, not vae"):
        train(slices(), CONTINUOUS, tmp_path)
