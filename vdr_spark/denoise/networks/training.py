"""Training of an autoencoder on the noisy slices. Read from top to bottom in five minutes.

    loss = alpha * regularisation + reconstruction / variance of the data

The same slices and settings give the same model on the same machine (on a GPU: up to the order in which it adds), also
when the run was killed in between: every epoch samples its order and crops from a seed of its own, so a checkpoint
needs no state of a generator, and the learning rate, which falls along a cosine, follows from the step. After every
epoch a measure is taken that needs no truth; the weights of the best epoch are the result, and training ends when the
measure has not improved for a while.

What is done by others: `training_set` makes images of slices, `autoencoder` is the model, `checkpoint` keeps it,
`device` knows GPUs, `process_group` several processes. None of that is needed to follow the loop.
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

from vdr_spark.config.denoise import AutoencoderSettings, VqvaeSettings
from vdr_spark.denoise.networks.autoencoder import Autoencoder, Output, vae, vqvae
from vdr_spark.denoise.networks.checkpoint import (
    Identity,
    load_checkpoint,
    resume,
    save_checkpoint,
)
from vdr_spark.denoise.networks.device import (
    autocast,
    explain_compiler_errors,
    flush_denormals,
    place_images,
    place_model,
)
from vdr_spark.denoise.networks.process_group import all_reduce_gradients, all_reduce_sum, process_group
from vdr_spark.denoise.networks.training_log import read_training_log, write_training_log
from vdr_spark.denoise.networks.training_set import Crops, stack_resolutions
from vdr_spark.denoise.networks.vector_quantizer import perplexity
from vdr_spark.errors import InvalidConfig

__all__ = ["LogLine", "Run", "is_finished", "read_training_log", "train"]

LogLine = dict[str, float]
"""A line of the log: an epoch's figures by name."""
Progress = Callable[[LogLine], None]
"""Called after every epoch with its line of the log."""
Measure = Callable[[Autoencoder], float]
"""How wrong a model is, lower being better, without a truth to compare with."""
_WARM_UP = 0.02  # of all steps, in which the learning rate rises to its full height


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
        """The model's name in the configuration."""
        return "vqvae" if isinstance(self.settings, VqvaeSettings) else "vae"

    @property
    def codebook_size(self) -> int:
        """The number of codes; 0 without a codebook."""
        return self.settings.codebook_size if isinstance(self.settings, VqvaeSettings) else 0


def train(slices: Tensor, run: Run, measure: Measure, fingerprint: str) -> Autoencoder:
    """Train a model on scaled noisy slices, (T, M, M); `fingerprint` is that of the noisy tensor.

    A checkpoint in the run's folder is continued, and a finished one is used as it is. What the slices hold is
    noisy already, so neither the model nor the log costs privacy.
    """
    settings = run.settings
    identity = Identity(run.model, settings.model_dump(mode="json"), fingerprint)
    with torch.random.fork_rng(devices=[]), flush_denormals():  # leaves the caller's random numbers alone
        torch.manual_seed(_seed(settings, epoch=0))
        model = new_model(run)
        optimizer = Adam(model.parameters(), settings.learning_rate)
        images = stack_resolutions(slices, settings.resolutions)  # (r*T, M, M)
        _start_at_mean(model, float(images.mean()))
        crops = Crops(images, slices, settings.crop_size)
        log, best = resume(run.folder, identity, model, optimizer)
        variance = float(images.var(correction=0).clamp(min=1e-12))  # of zeros, any divisor will do
        while not is_over(log, settings):
            epoch = len(log) + 1
            torch.manual_seed(_seed(settings, epoch))
            line = {"epoch": epoch, **_train_epoch(model, optimizer, crops, epoch, variance, run)}
            _check_finite(line, settings)
            log.append(line | {"error": _measure_on_rank_zero(model, measure)})
            if best_epoch(log) == epoch:
                best = {name: tensor.clone() for name, tensor in model.state_dict().items()}
            if process_group().is_rank_zero:
                write_training_log(run.folder, log)
                if epoch % settings.checkpoint_every == 0 or is_over(log, settings):
                    save_checkpoint(run.folder, identity, log, model, optimizer, best)
            run.progress(log[-1])
    model.load_state_dict(best)
    return model.eval()


def _train_epoch(
    model: Autoencoder, optimizer: Optimizer, crops: Crops, epoch: int, variance: float, run: Run
) -> dict[str, float]:
    """Show the model every image once, or as many crops of it, in random order. Returns figures for the log."""
    settings, start, waiting, pixels = run.settings, time.perf_counter(), 0.0, 0
    sums = torch.zeros(2 + run.codebook_size, device=run.device)  # loss, reconstruction, vectors that each code won
    model.train()
    batches = torch.split(crops.shuffle(), settings.batch_size)
    for number, chosen in enumerate(batches):
        asked = time.perf_counter()
        batch = crops.cut(chosen)  # (B, S, S)
        x = place_images(process_group().shard(batch)[:, None], run.device)  # (B', 1, S, S), B' of B in this process
        waiting += time.perf_counter() - asked
        done = (epoch - 1 + number / len(batches)) / settings.epochs
        for group in optimizer.param_groups:
            group["lr"] = settings.learning_rate * share_of_rate(done)
        output = run_model(model, x, run)
        reconstruction = F.mse_loss(output.reconstruction.float(), x, reduction="sum") / (batch.numel() * variance)
        loss = settings.alpha * output.regularisation * (len(x) / len(batch)) + reconstruction
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        all_reduce_gradients(model.parameters())
        optimizer.step()
        sums[:2] += batch.numel() * torch.stack([loss, reconstruction]).detach()
        pixels += batch.numel()
        if output.indices is not None:
            sums[2:] += output.indices.flatten().bincount(minlength=run.codebook_size)
    sums = all_reduce_sum(sums).cpu()
    line = {"loss": float(sums[0]) / pixels, "reconstruction": float(sums[1]) / pixels, "pixels": pixels}
    if run.codebook_size:
        line |= {"perplexity": perplexity(sums[2:]), "dead_codes": int((sums[2:] == 0).sum())}
    return line | {"seconds": round(time.perf_counter() - start, 3), "waiting_seconds": round(waiting, 3)}


def share_of_rate(done: float) -> float:
    """Return the share of the learning rate that is used after a share of all epochs: up, then down a cosine."""
    return min(1.0, (done + 1e-3) / _WARM_UP) * 0.5 * (1 + math.cos(math.pi * done))


def run_model(model: Autoencoder, x: Tensor, run: Run) -> Output:
    """Return what a model makes of images (B, 1, M, M), in the run's precision."""
    with explain_compiler_errors(run.compiled), autocast(run.device, run.mixed):
        output: Output = model(x)
    return output


def is_finished(run: Run) -> bool:
    """Return whether the run's folder holds a training that has come to its end."""
    checkpoint = load_checkpoint(run.folder)
    return checkpoint is not None and is_over(checkpoint.log, run.settings)


def read_finished_log(run: Run) -> list[LogLine]:
    """Return the log of a training that has come to its end."""
    checkpoint = load_checkpoint(run.folder)
    assert checkpoint is not None
    return checkpoint.log


def is_over(log: Sequence[LogLine], settings: AutoencoderSettings) -> bool:
    """Return whether all epochs are done, or the measure has not improved for too long."""
    if not log:
        return False
    waiting = len(log) - best_epoch(log)
    return len(log) >= settings.epochs or (settings.patience is not None and waiting >= settings.patience)


def best_epoch(log: Sequence[LogLine]) -> int:
    """Return the epoch of the least error; of equals the last: it has learnt longer."""
    return int(min(log, key=lambda line: (line["error"], -line["epoch"]))["epoch"])


def new_model(run: Run) -> Autoencoder:
    """Return a model of the run's settings that has learnt nothing yet, on its device."""
    s = run.settings
    if isinstance(s, VqvaeSettings):
        model = vqvae(s.codebook_size, s.channels, s.ema_decay, s.commitment_weight)
    else:
        model = vae(s.channels)
    place_model(model, run.device)
    if run.compiled:
        model.compile()
    return model


def _start_at_mean(model: Autoencoder, mean: float) -> None:
    """Let a new model reconstruct the mean of all images, from which it is a shorter way than from zero."""
    bias = model.decoder[-1].bias
    assert isinstance(bias, Tensor)
    torch.nn.init.constant_(bias, mean)


def _measure_on_rank_zero(model: Autoencoder, measure: Measure) -> float:
    """Take the measure in one process, for all of the group: they must agree on when to stop."""
    model.eval()  # else looking at slices would move the codebook
    figure = measure(model) if process_group().is_rank_zero else 0.0
    return float(all_reduce_sum(torch.tensor(figure, dtype=torch.float64)))


def _check_finite(line: LogLine, settings: AutoencoderSettings) -> None:
    if not math.isfinite(line["loss"]):
        raise InvalidConfig(
            f"the training diverged in epoch {line['epoch']:.0f}: its loss is {line['loss']}; lower the model's "
            f"learning_rate (denoise.vqvae or denoise.vae), which is {settings.learning_rate}"
        )


def _seed(settings: AutoencoderSettings, epoch: int) -> int:
    """Return one seed for the weights (epoch 0) and one for every epoch, unrelated to each other."""
    return int(np.random.SeedSequence([settings.seed, epoch]).generate_state(1, np.uint64)[0])
