"""Networks that are kept for later windows: used while they fit, are young and have not drifted; the reason is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.past.towns import NOISE, grid_of, remember, town, usual_past
from tests.denoise.priors.test_ridge import festival
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.priors import blindspot, reconstruction, registry
from vdr_spark.denoise.priors.kept import KeptModels, reuse_or_train
from vdr_spark.errors import CheckpointMismatch
from vdr_spark.progress import NullProgress

FIRST = KeptModels("", "2020-W02", 0, ("2020-01-06", "2020-01-13"), 7, 28)
SETTINGS = {"steps": 3}


def kept_in(folder: Path, number: int) -> KeptModels:
    return replace(FIRST, folder=str(folder), window=f"2020-W{number + 2:02}", number=number)


def ask(kept: KeptModels | None, drift: str | None = None, settings: dict[str, int] = SETTINGS) -> tuple[str, str]:
    """Return which network is used, and the note; networks are words here."""
    network, notes = reuse_or_train(
        kept, "blindspot", settings, "here", lambda folder: f"from {folder}", lambda _: drift, lambda: "trained"
    )
    return network, notes.get("network", "")


def test_without_a_series_nothing_is_kept() -> None:
    assert ask(None) == ("trained", "")


def test_a_network_is_used_until_it_is_too_old(tmp_path: Path) -> None:
    assert ask(kept_in(tmp_path, 0)) == ("trained", "trained on window 2020-W02: none is kept")
    assert ask(kept_in(tmp_path, 3)) == (
        "from here",
        "kept: trained on window 2020-W02, 3 windows ago, and not drifted",
    )
    network, note = ask(kept_in(tmp_path, 4))
    assert network == "trained"
    assert "of window 2020-W02, is 4 windows old, as old as series.retrain allows" in note
    assert ask(kept_in(tmp_path, 5))[1] == "kept: trained on window 2020-W06, 1 window ago, and not drifted"


def test_one_that_drifted_is_trained_again_and_the_reason_is_told(tmp_path: Path) -> None:
    ask(kept_in(tmp_path, 0))
    network, note = ask(kept_in(tmp_path, 1), drift="its error doubled")
    assert network == "trained"
    assert note == "trained on window 2020-W03: the kept one, of window 2020-W02, has drifted: its error doubled"
    assert ask(kept_in(tmp_path, 2))[1].startswith("kept: trained on window 2020-W03")


def test_other_settings_and_a_lost_checkpoint(tmp_path: Path) -> None:
    ask(kept_in(tmp_path, 0))
    assert "settings of its training were changed" in ask(kept_in(tmp_path, 1), settings={"steps": 4})[1]

    def lost(_: str) -> str:
        raise CheckpointMismatch("there is no checkpoint")

    args = (kept_in(tmp_path, 2), "blindspot", {"steps": 4}, "here", lost, lambda _: None, lambda: "trained")
    assert "cannot be used (there is no checkpoint)" in reuse_or_train(*args)[1]["network"]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("model", ["blindspot", "vqvae"])
def test_the_second_window_is_denoised_without_training(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = DenoiseSettings(
        model=model,
        device="cpu",
        blindspot={"steps": 3, "batch_size": 2, "crop_size": 16},
        vqvae={"epochs": 1, "channels": 4, "codebook_size": 8, "batch_size": 4},
    )

    def prior(number: int, seed: int) -> registry.Prior:
        noisy = with_noise(festival(), seed)
        kept = kept_in(tmp_path / "series", number)
        task = registry.Task(
            noisy, laplace_noise(8.0), 4.0, settings, str(tmp_path / str(number)), NullProgress(), kept=kept
        )
        return registry.PRIORS[model](task)

    first = prior(0, 1)
    assert first.notes["network"] == "trained on window 2020-W02: none is kept"
    monkeypatch.setattr(blindspot, "_train", None)  # whoever trains now fails
    monkeypatch.setattr(reconstruction, "train", None)
    monkeypatch.setattr(reconstruction, "_GROWN", 1e9)  # a model of one epoch is as good as none
    monkeypatch.setattr(blindspot, "_SURE", 1e9)
    second = prior(1, 2)
    assert second.notes["network"] == "kept: trained on window 2020-W02, 1 window ago, and not drifted"
    assert second.mean.shape == first.mean.shape
    assert np.isfinite(second.mean).all()


@pytest.mark.usefixtures("one_thread")
def test_drift_is_judged_by_the_window_and_not_by_the_earlier_slices_that_were_learnt_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid, looked_at = grid_of(0, 4, 24), list[tuple[int, ...]]()
    noisy = with_noise(town(1, grid))

    def find_drift(mean: np.ndarray, ridge: np.ndarray, counts: np.ndarray) -> None:
        looked_at.append((len(mean), len(ridge), len(counts)))
        np.testing.assert_array_equal(counts, noisy)

    monkeypatch.setattr(blindspot, "find_drift", find_drift)
    settings = DenoiseSettings(
        model="blindspot", device="cpu", blindspot={"steps": 2, "batch_size": 2, "crop_size": 16}
    )
    past = remember(noisy, grid, usual_past(2, grid))
    for number in range(2):
        folder, kept = str(tmp_path / f"release{number}"), kept_in(tmp_path / "kept", number)
        registry.PRIORS["blindspot"](
            registry.Task(noisy, NOISE, 8.0, settings, folder, NullProgress(), None, kept, past)
        )
    assert looked_at == [(4, 4, 4)]


def test_a_correction_that_makes_it_worse_has_drifted() -> None:
    random = np.random.default_rng(3)
    truth = np.full((8, 20, 20), 5.0, np.float32)
    noisy = truth + random.laplace(0, 2, truth.shape).astype(np.float32)
    assert blindspot.find_drift(truth, truth + 1, noisy) is None
    assert blindspot.find_drift(truth, truth, noisy) is None
    assert "above that of the regression" in str(blindspot.find_drift(truth + 1, truth, noisy))
