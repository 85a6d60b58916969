"""The denoisers by name: each predicts every cell's mean from the noisy tensor alone."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import DenoiseSettings
from vdr_spark.denoise.launcher import Launcher
from vdr_spark.denoise.past.evidence import PastEvidence
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.kept import KeptModels, reuse_or_train
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.denoise.priors.temporal import TemporalPrior, temporal_prior
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import Progress

if TYPE_CHECKING:
    from vdr_spark.denoise.networks.training import Run


@dataclass
class Task:
    """What a model is given: noisy slices (T, M, M), what is known about them, settings. Keeps what models share."""

    noisy: Slices
    noise: Noise
    slices_per_day: float
    settings: DenoiseSettings
    folder: str  # of this release's work
    progress: Progress
    launcher: Launcher | None = None  # of training processes, where there may be several
    kept: KeptModels | None = None  # networks of earlier windows, where there are windows
    past: PastEvidence | None = None  # earlier windows' slices

    def name_of(self, model: str) -> str:
        """Return under which name a model keeps its training: one that sees earlier windows is another one."""
        return model if self.past is None else f"{model}_with_past"

    def folder_of(self, model: str) -> str:
        """Return where a model keeps its training."""
        return posixpath.join(self.folder, self.name_of(model))

    @cached_property
    def shown(self) -> Slices:
        """What models look at: the slices of earlier windows, if there are any, and the window's own last. (S, M, M)"""
        return self.noisy if self.past is None else self.past.before(self.noisy)

    def own(self, of_shown: Slices) -> Slices:
        """Return, of what a model says of all slices that it is shown, the window's own. (S, M, M) -> (T, M, M)"""
        return of_shown[len(of_shown) - len(self.noisy) :]

    @cached_property
    def features(self) -> Features:
        """The blind features of every slice, which several models use."""
        return Features(self.shown, self.noise, self.slices_per_day, self.progress)

    @cached_property
    def ridge(self) -> Regression:
        """The regression on them."""
        return fit_ridge(self.features, self.shown, self.noise, self.progress)

    def forget(self) -> None:
        """Let go of what models share."""
        for shared in ("features", "ridge", "shown"):
            self.__dict__.pop(shared, None)

    def over(self, noisy: Slices, noise: Noise) -> Task:
        """Return the same task over other noisy counts, which hold other noise."""
        return replace(self, noisy=noisy, noise=noise)


@dataclass(frozen=True)
class Prior:
    """A prediction of every cell's mean, in all slices that the model is shown (S, M, M), and notes about it.

    `again` makes the prediction anew for a task over other noisy counts, by the same method. `reconstruct` makes it out
    of some slices alone, where the model looks at the cell's own count; None: it is blind.
    """

    mean: Slices
    notes: dict[str, Any]
    again: Callable[[Task], Slices]
    reconstruct: Callable[[Slices], Slices] | None = None


def _temporal(task: Task) -> Prior:
    def predict(task: Task) -> TemporalPrior:
        return temporal_prior(task.noisy, task.noise.variance, task.progress)

    prior = predict(task)
    notes = {"width_cells": prior.width, "blind_risk": prior.blind_risk}
    return Prior(prior.mean, notes, lambda task: predict(task).mean)


def _ridge(task: Task) -> Prior:
    def predict(task: Task) -> Slices:
        return ridge_prior(task.features, task.ridge, task.progress)

    return Prior(predict(task), {}, predict)


def _blindspot(task: Task) -> Prior:
    from vdr_spark.denoise.networks.device import choose_device
    from vdr_spark.denoise.priors.blindspot import find_drift, load_blindspot, predict_blindspot, train_blindspot

    settings, device = task.settings.blindspot, choose_device(task.settings.device)
    folder = task.folder_of("blindspot")
    network, why = reuse_or_train(
        task.kept,
        task.name_of("blindspot"),
        settings.model_dump(mode="json"),
        folder,
        lambda earlier: load_blindspot(earlier, task.features, task.ridge, device),
        # By the window's own slices: on those before them it may have been trained.
        lambda loaded: find_drift(
            task.own(predict_blindspot(loaded, task.features, task.ridge, device, task.progress)),
            task.own(ridge_prior(task.features, task.ridge, task.progress)),
            task.noisy,
        ),
        lambda: train_blindspot(
            task.shown, task.noise, task.features, task.ridge, settings, folder, device, task.progress
        ),
    )

    def predict(task: Task) -> Slices:
        return predict_blindspot(network, task.features, task.ridge, device, task.progress)

    return Prior(predict(task), {"steps": settings.steps} | why, predict)


def _autoencoder(task: Task, model: str) -> Prior:
    from vdr_spark.denoise.priors.distributed import train_distributed
    from vdr_spark.denoise.priors.reconstruction import autoencoder_prior

    with task.progress.task(f"denoise: train {model}", task.settings.autoencoder(model).epochs) as update:
        run = network_run(
            task.settings,
            model,
            task.folder_of(model),
            lambda line: update(line["epoch"], f"loss {line['loss']:.3f}, error {line['error']:.3f} of the noise's"),
        )

        def train_in_processes() -> None:
            if task.settings.processes > 1:
                train_distributed(task.noisy, task.noise, run, task.settings, task.launcher)

        reconstruct, notes = autoencoder_prior(task.noisy, task.noise, run, task.kept, train_in_processes)
        return Prior(reconstruct(task.noisy), notes, lambda task: reconstruct(task.noisy), reconstruct)


def network_run(
    settings: DenoiseSettings, model: str, folder: str, progress: Callable[[dict[str, float]], None] | None = None
) -> Run:
    """Return how an autoencoder is trained, and where that is kept."""
    # PyTorch takes seconds to import: only where it is used.
    from vdr_spark.denoise.networks.device import choose_device, is_mixed
    from vdr_spark.denoise.networks.training import Run

    device = choose_device(settings.device)
    mixed = is_mixed(settings.precision, device)
    return Run(settings.autoencoder(model), folder, device, mixed, settings.compile, progress or (lambda _: None))


PRIORS: dict[str, Callable[[Task], Prior]] = {
    "temporal": _temporal,
    "ridge": _ridge,
    "blindspot": _blindspot,
    "vqvae": lambda task: _autoencoder(task, "vqvae"),
    "vae": lambda task: _autoencoder(task, "vae"),
}

WITH_PAST = frozenset({"ridge", "blindspot"})
"""Those that earlier windows can tell something."""
