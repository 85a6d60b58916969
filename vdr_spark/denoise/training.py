"""Training of the VQ-VAE on the noisy slices. Read from top to bottom in five minutes.

    loss = alpha * regularisation + reconstruction / variance of the data

The same slices and settings give the same model on the same machine, also when the run was killed in between:
every epoch draws its order and crops from a seed of its own, so a checkpoint needs no state of a generator.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F
from torch.optim import Adam, Optimizer

from vdr_spark.config.settings import VqvaeSettings
from vdr_spark.denoise.checkpoint import (
    Identity,
    read_training_log,
    resume,
    save_checkpoint,
    write_training_log,
)
from vdr_spark.denoise.models.vector_quantizer import perplexity
from vdr_spark.denoise.models.vqvae import Vqvae
from vdr_spark.denoise.multiresolution import multiresolution
from vdr_spark.errors import InvalidConfig

__all__ = ["Progress", "read_training_log", "train"]

Progress = Callable[[int, int, float], None]
"""Called after every epoch with (epochs done, epochs in all, loss)."""


def train(slices: Tensor, settings: VqvaeSettings, device: torch.device, folder: str, progress: Progress) -> Vqvae:
    """A model trained on standardised noisy slices, (T, M, M); `folder` keeps its checkpoint and its log.

    A checkpoint found there is continued, and a finished one is used as it is. What the slices hold is noisy
    already, so neither the model nor the log costs privacy.
    """
    identity = Identity("vqvae", settings.model_dump(mode="json"), _fingerprint(slices))
    with torch.random.fork_rng(devices=[]):  # leaves the caller's random numbers alone
        torch.manual_seed(_seed(settings, epoch=0))
        model = Vqvae(settings.codes, settings.channels, settings.decay, settings.commitment).to(device)
        optimizer = Adam(model.parameters(), settings.learning_rate)
        done = resume(folder, identity, model, optimizer)
        # Epochs that came after the checkpoint are done again.
        log = [line for line in read_training_log(folder) if line["epoch"] <= done]

        images = multiresolution(slices.to(device), settings.resolutions)  # (r*T, M, M)
        for epoch in range(done + 1, settings.epochs + 1):
            torch.manual_seed(_seed(settings, epoch))
            log.append({"epoch": epoch, **_train_epoch(model, optimizer, images, settings)})
            _check_finite(log[-1], settings)
            write_training_log(folder, log)
            if epoch % settings.checkpoint_every == 0 or epoch == settings.epochs:
                save_checkpoint(folder, identity, epoch, model, optimizer)
            progress(epoch, settings.epochs, log[-1]["loss"])
    return model.eval()


def _train_epoch(model: Vqvae, optimizer: Optimizer, images: Tensor, settings: VqvaeSettings) -> dict[str, float]:
    """Every image once, in random order. Returns the epoch's line of the log."""
    start = time.perf_counter()
    variance = images.var(correction=0).clamp(min=1e-12)  # of zeros, any divisor will do
    losses = torch.zeros(2, device=images.device)  # loss, reconstruction: summed over images
    wins = torch.zeros(settings.codes, device=images.device)  # vectors that each code won
    model.train()
    order = torch.randperm(len(images)).to(images.device)
    for first in range(0, len(images), settings.batch):
        batch = images[order[first : first + settings.batch]]  # (B, M, M)
        x = random_crops(batch, settings.crop)[:, None]  # (B, 1, S, S)
        output = model(x)
        reconstruction = F.mse_loss(output.reconstruction, x) / variance
        loss = settings.alpha * output.regularisation + reconstruction
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses += len(x) * torch.stack([loss, reconstruction]).detach()
        wins += output.indices.flatten().bincount(minlength=settings.codes)
    mean_loss, mean_reconstruction = (losses / len(images)).tolist()
    return {
        "loss": mean_loss,
        "reconstruction": mean_reconstruction,
        "perplexity": perplexity(wins),
        "dead_codes": int((wins == 0).sum()),
        "seconds": round(time.perf_counter() - start, 3),
    }


def random_crops(images: Tensor, side: int | None) -> Tensor:
    """A square somewhere in each image; all of it where `side` is None or larger. (B, M, M) -> (B, S, S)"""
    size = images.shape[-1]
    if side is None or side >= size:
        return images
    corners = torch.randint(size - side + 1, (len(images), 2)).tolist()
    crops = [image[y : y + side, x : x + side] for image, (y, x) in zip(images, corners, strict=True)]
    return torch.stack(crops)


def _check_finite(line: dict[str, float], settings: VqvaeSettings) -> None:
    if not math.isfinite(line["loss"]):
        raise InvalidConfig(
            f"the training diverged in epoch {line['epoch']}: its loss is {line['loss']}; lower "
            f"denoise.vqvae.learning_rate, which is {settings.learning_rate}"
        )


def _seed(settings: VqvaeSettings, epoch: int) -> int:
    """One seed for the weights (epoch 0) and one for every epoch, unrelated to each other."""
    return int(np.random.SeedSequence([settings.seed, epoch]).generate_state(1, np.uint64)[0])


def _fingerprint(slices: Tensor) -> str:
    return hashlib.sha256(slices.cpu().contiguous().numpy().data).hexdigest()[:16]
