"""The denoisers by name: each predicts every cell's mean from the noisy tensor alone."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config import ReleaseConfig
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.denoise.priors.ridge import fit_ridge, ridge_prior
from vdr_spark.denoise.priors.temporal import temporal_prior
from vdr_spark.privacy.mechanism import Noise, noise_of
from vdr_spark.progress import Progress

if TYPE_CHECKING:
    from vdr_spark.denoise.networks.training import Run

Slices = NDArray[np.float32]


@dataclass
class Task:
    """What a model is given: noisy slices (T, M, M), settings, a folder, a progress bar. Keeps what models share."""

    noisy: Slices
    config: ReleaseConfig
    folder: str  # of this release's work
    progress: Progress
    noise: Noise = field(init=False)

    def __post_init__(self) -> None:
        self.noise = noise_of(self.config.privacy)

    def folder_of(self, model: str) -> str:
        return posixpath.join(self.folder, model)

    @cached_property
    def features(self) -> Features:
        return Features(self.noisy, self.noise, self.config.domain.slices_per_day, self.progress)

    @cached_property
    def ridge(self) -> Regression:
        return fit_ridge(self.features, self.noisy, self.noise, self.progress)


@dataclass(frozen=True)
class Prior:
    """A prediction of every cell's mean (T, M, M), and what there is to say about it.

    `redraw` makes the prediction anew out of other counts, where the model looks at the cell's own; None: it is blind.
    """

    mean: Slices
    notes: dict[str, Any]
    redraw: Callable[[Slices], Slices] | None = None


def _temporal(task: Task) -> Prior:
    prior = temporal_prior(task.noisy, task.noise.variance, task.progress)
    return Prior(prior.mean, {"width_cells": prior.width, "blind_risk": prior.blind_risk})


def _ridge(task: Task) -> Prior:
    return Prior(ridge_prior(task.features, task.ridge, task.progress), {})


def _blindspot(task: Task) -> Prior:
    from vdr_spark.denoise.networks.device import choose_device
    from vdr_spark.denoise.priors.blindspot import blindspot_prior

    settings = task.config.denoise
    mean = blindspot_prior(
        task.noisy,
        task.noise,
        task.features,
        task.ridge,
        settings.blindspot,
        task.folder_of("blindspot"),
        choose_device(settings.device),
        task.progress,
    )
    return Prior(mean, {"steps": settings.blindspot.steps})


def _autoencoder(task: Task, model: str) -> Prior:
    from vdr_spark.denoise.networks.distributed import train_together
    from vdr_spark.denoise.priors.reconstruction import autoencoder_prior

    with task.progress.task(f"denoise: train {model}", task.config.denoise.autoencoder(model).epochs) as update:
        run = network_run(
            task.config,
            model,
            task.folder_of(model),
            lambda line: update(line["epoch"], f"loss {line['loss']:.3f}, error {line['error']:.3f} of the noise's"),
        )
        if task.config.denoise.processes > 1:
            train_together(task.noisy, task.noise, run, task.config.denoise)
        redraw, notes = autoencoder_prior(task.noisy, task.noise, run)
        return Prior(redraw(task.noisy), notes, redraw)


def network_run(
    config: ReleaseConfig, model: str, folder: str, progress: Callable[[dict[str, float]], None] | None = None
) -> Run:
    """How an autoencoder is trained, and where that is kept."""
    # PyTorch takes seconds to import: only where it is used.
    from vdr_spark.denoise.networks.device import choose_device, is_mixed
    from vdr_spark.denoise.networks.training import Run

    settings = config.denoise
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
