"""Training of an autoencoder on the noisy slices. Read from top to bottom in five minutes.

    loss = alpha * regularisation + reconstruction / variance of the data

The same slices and settings give the same model on the same machine (on a GPU: up to the order in which it adds), also
when the run was killed in between: every epoch draws its order and crops from a seed of its own, so a checkpoint needs
no state of a generator. After every epoch a measure is taken that needs no truth; the weights of the best epoch are
the result, and training ends when the measure has not improved for a while.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Adam, Optimizer

from vdr_spark.config.settings import AutoencoderSettings, VqvaeSettings
from vdr_spark.denoise.networks.autoencoder import Autoencoder, vae, vqvae
from vdr_spark.denoise.networks.checkpoint import (
    Identity,
    load_checkpoint,
    read_training_log,
    resume,
    save_checkpoint,
    write_training_log,
)
from vdr_spark.denoise.networks.device import autocast, compiler_explained, lay_out, on_device
from vdr_spark.denoise.networks.multiresolution import multiresolution
from vdr_spark.denoise.networks.process_group import add_up_gradients, added_up, team
from vdr_spark.denoise.networks.vector_quantizer import perplexity
from vdr_spark.errors import InvalidConfig

__all__ = ["Line", "Run", "is_finished", "read_training_log", "train"]

Line = dict[str, float]
"""Of the log: an epoch's figures by name."""
Progress = Callable[[Line], None]
"""Called after every epoch with its line of the log."""
Measure = Callable[[Autoencoder], float]
"""How wrong a model is, lower being better, without a truth to compare with."""


@dataclass(frozen=True)
class Run:
    """What a training is given beside slices and a measure."""

    settings: AutoencoderSettings
    folder: str  # keeps its checkpoint and its log
    device: torch.device = torch.device("cpu")  # noqa: RUF009  immutable
    mixed: bool = False
    compiled: bool = False
    progress: Progress = lambda _: None

    @property
    def model(self) -> str:
        return "vqvae" if isinstance(self.settings, VqvaeSettings) else "vae"


def train(slices: Tensor, run: Run, measure: Measure, fingerprint: str) -> Autoencoder:
    """A model trained on scaled noisy slices, (T, M, M); `fingerprint` is that of the noisy tensor.

    A checkpoint found in the run's folder is continued, and a finished one is used as it is. What the slices hold is
    noisy already, so neither the model nor the log costs privacy.
    """
    settings = run.settings
    identity = Identity(run.model, settings.model_dump(mode="json"), fingerprint)
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random numbers alone
        torch.manual_seed(_seed(settings, epoch=0))
        model = _new_model(run)
        optimizer = Adam(model.parameters(), settings.learning_rate)
        images = multiresolution(slices, settings.resolutions)  # (r*T, M, M)
        start_at(model, float(images.mean()))
        log, best = resume(run.folder, identity, model, optimizer)
        variance = float(images.var(correction=0).clamp(min=1e-12))  # of zeros, any divisor will do
        while not is_over(log, settings):
            epoch = len(log) + 1
            torch.manual_seed(_seed(settings, epoch))
            line = {"epoch": epoch, **_train_epoch(model, optimizer, images, variance, run)}
            _check_finite(line, settings)
            log.append(line | {"error": _measured(model, measure)})
            if best_epoch(log) == epoch:
                best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            if team().leads:
                write_training_log(run.folder, log)
                if epoch % settings.checkpoint_every == 0 or is_over(log, settings):
                    save_checkpoint(run.folder, identity, log, model, optimizer, best)
            run.progress(log[-1])
    model.load_state_dict(best)
    return model.eval()


def is_finished(run: Run) -> bool:
    """Whether the run's folder holds a training that has come to its end."""
    checkpoint = load_checkpoint(run.folder)
    return checkpoint is not None and is_over(checkpoint.log, run.settings)


def finished_log(run: Run) -> list[Line]:
    """Of a training that has come to its end."""
    checkpoint = load_checkpoint(run.folder)
    assert checkpoint is not None
    return checkpoint.log


def is_over(log: Sequence[Line], settings: AutoencoderSettings) -> bool:
    """Whether all epochs are done, or the measure has not improved for too long."""
    if not log:
        return False
    waiting = len(log) - best_epoch(log)
    return len(log) >= settings.epochs or (settings.patience is not None and waiting >= settings.patience)


def best_epoch(log: Sequence[Line]) -> int:
    """Of equals the last: it has learnt longer."""
    return int(min(log, key=lambda line: (line["error"], -line["epoch"]))["epoch"])


def start_at(model: Autoencoder, mean: float) -> None:
    """Let a new model draw the mean of all images, from which it is a shorter way than from zero."""
    bias = model.decoder[-1].bias
    assert isinstance(bias, Tensor)
    torch.nn.init.constant_(bias, mean)


def _new_model(run: Run) -> Autoencoder:
    s = run.settings
    model = vqvae(s.codes, s.channels, s.decay, s.commitment) if isinstance(s, VqvaeSettings) else vae(s.channels)
    lay_out(model, run.device)
    if run.compiled:
        model.compile()
    return model


def _train_epoch(
    model: Autoencoder, optimizer: Optimizer, images: Tensor, variance: float, run: Run
) -> dict[str, float]:
    """Every image once, in random order. Returns the epoch's line of the log."""
    settings, start, waited = run.settings, time.perf_counter(), 0.0
    codes = settings.codes if isinstance(settings, VqvaeSettings) else 0
    sums = torch.zeros(2 + codes, device=run.device)  # loss, reconstruction, vectors that each code won
    model.train()
    order = torch.randperm(len(images))
    for first in range(0, len(images), settings.batch):
        asked = time.perf_counter()
        batch = random_crops(images, order[first : first + settings.batch], settings.crop)  # (B, S, S)
        x = on_device(team().part(batch)[:, None], run.device)  # (B', 1, S, S), B' of B in this process
        waited += time.perf_counter() - asked
        with compiler_explained(run.compiled), autocast(run.device, run.mixed):
            drawn = model(x)
        reconstruction = F.mse_loss(drawn.reconstruction.float(), x, reduction="sum") / (batch.numel() * variance)
        loss = settings.alpha * drawn.regularisation * (len(x) / len(batch)) + reconstruction
        optimizer.zero_grad()
        loss.backward()
        add_up_gradients(model.parameters())
        optimizer.step()
        sums[:2] += len(batch) * torch.stack([loss, reconstruction]).detach()
        if drawn.indices is not None:
            sums[2:] += drawn.indices.flatten().bincount(minlength=codes)
    sums = added_up(sums).cpu()
    line = {"loss": float(sums[0]) / len(images), "reconstruction": float(sums[1]) / len(images)}
    if codes:
        line |= {"perplexity": perplexity(sums[2:]), "dead_codes": int((sums[2:] == 0).sum())}
    return line | {"seconds": round(time.perf_counter() - start, 3), "waited": round(waited, 3)}


def random_crops(images: Tensor, chosen: Tensor, side: int | None) -> Tensor:
    """A square somewhere in each chosen image; all of it where `side` is None or larger. (N, M, M) -> (B, S, S)"""
    size = images.shape[-1]
    if side is None or side >= size:
        return images[chosen]
    corners = torch.randint(size - side + 1, (len(chosen), 2)).tolist()
    places = zip(chosen.tolist(), corners, strict=True)
    return torch.stack([images[number, y : y + side, x : x + side] for number, (y, x) in places])


def _measured(model: Autoencoder, measure: Measure) -> float:
    """By one of the team, for all of it: they must agree on when to stop."""
    model.eval()  # else looking at slices would move the codebook
    figure = measure(model) if team().leads else 0.0
    return float(added_up(torch.tensor(figure, dtype=torch.float64)))


def _check_finite(line: dict[str, float], settings: AutoencoderSettings) -> None:
    if not math.isfinite(line["loss"]):
        raise InvalidConfig(
            f"the training diverged in epoch {line['epoch']:.0f}: its loss is {line['loss']}; lower the model's "
            f"learning_rate (denoise.vqvae or denoise.vae), which is {settings.learning_rate}"
        )


def _seed(settings: AutoencoderSettings, epoch: int) -> int:
    """One seed for the weights (epoch 0) and one for every epoch, unrelated to each other."""
    return int(np.random.SeedSequence([settings.seed, epoch]).generate_state(1, np.uint64)[0])
