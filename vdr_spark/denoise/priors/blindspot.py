"""`blindspot`: the ridge regression's prior, corrected by a small network that is blind to the cell it predicts.

The network learns by the likelihood of the noisy counts themselves: it says how the mean, the dispersion and the tail
of a cell's prior should be, and is told how probable the cell's noisy count was under that. What it says is blind, so
it cannot learn the noise. Only its mean is used further; fusion fits dispersion and tail to all cells together.
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam

from vdr_spark.arrays import Slices
from vdr_spark.config.denoise import BlindspotSettings
from vdr_spark.denoise.estimation.likelihood import Axis
from vdr_spark.denoise.estimation.marginal import MarginalLikelihood
from vdr_spark.denoise.networks.checkpoint import Identity, load_checkpoint, resume, save_checkpoint
from vdr_spark.denoise.networks.training_log import write_training_log
from vdr_spark.denoise.networks.unet import BlindspotNetwork, Correction
from vdr_spark.denoise.priors.features import Features
from vdr_spark.denoise.priors.regression import Regression
from vdr_spark.denoise.statistics.local_mean import local_mean
from vdr_spark.denoise.statistics.subsets import evenly_spaced
from vdr_spark.errors import CheckpointMismatch
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.progress import NullProgress, Progress

_STEPS_PER_EPOCH = 50
_SLICES_HELD = 32  # whose features are kept for the training
_SMALLEST_MEAN = 1e-3  # pings
_LARGEST_CORRECTION = 1.5  # of the logarithm of a mean
_USUAL_DISPERSION, _DISPERSION_REACH = math.log(2), 2.5  # logarithms
_USUAL_TAIL, _TAIL_REACH = -7.0, 5.0  # of the logit of its weight
_BUSY_CROPS = 0.85  # of crops are sampled where people are; the rest anywhere
_BUSY_WIDTH = 4.0  # cells, of the map by which they are sampled
_SURE = 2.0  # deviations, from which on a kept network counts as worse than none


def train_blindspot(
    noisy: Slices,
    noise: Noise,
    features: Features,
    ridge: Regression,
    settings: BlindspotSettings,
    folder: str,
    device: torch.device,
    progress: Progress | None = None,
) -> BlindspotNetwork:
    """Train on a noisy tensor (T, M, M). The folder keeps the training: a killed one is continued."""
    return _train(noisy, noise, _View(features, ridge, device), settings, folder, progress or NullProgress())


def load_blindspot(folder: str, features: Features, ridge: Regression, device: torch.device) -> BlindspotNetwork:
    """Return the network of a training that lies in a folder; refused where it does not fit these features."""
    checkpoint = load_checkpoint(folder)
    if checkpoint is None:
        raise CheckpointMismatch(f"there is no checkpoint in {folder}")
    seen = _View(features, ridge, device).of(0)
    network = BlindspotNetwork(seen.others.shape[1], seen.own.shape[1]).to(device)
    checkpoint.restore_best(network)
    return network.to(memory_format=torch.channels_last).eval().requires_grad_(False)


def find_drift(mean: Slices, ridge: Slices, noisy: Slices) -> str | None:
    """Say that a network's prediction is worse than that of the regression it corrects; None where it is not.

    Both are blind, so the squared distances to the noisy counts differ by what the predictions differ in error, in the
    mean, whatever the counts are. Slice by slice, because neighbouring cells err alike.
    """
    gains = [float((np.square(m - n) - np.square(r - n)).mean()) for m, r, n in zip(mean, ridge, noisy, strict=True)]
    loss, spread = float(np.mean(gains)), float(np.std(gains) / math.sqrt(len(gains)))
    if loss <= _SURE * spread or loss <= 0:
        return None
    return f"its squared error is {loss:.3g} above that of the regression it corrects ({spread:.2g} is chance)"


def predict_blindspot(
    network: BlindspotNetwork,
    features: Features,
    ridge: Regression,
    device: torch.device,
    progress: Progress | None = None,
) -> Slices:
    """Predict every cell of the tensor that the features are of. (T, M, M)"""
    view, mean = _View(features, ridge, device), np.empty_like(features.expected)
    with (progress or NullProgress()).task("denoise: blindspot prior", len(mean)) as update:
        for t in range(len(mean)):
            seen = view.of(t)
            others, own = (x.float().contiguous(memory_format=torch.channels_last) for x in (seen.others, seen.own))
            mean[t] = torch.exp(_log_mean(seen, network(others, own))).cpu().numpy()
            update(t + 1, "")
    return mean


@dataclass(frozen=True)
class _NetworkInput:
    """What the network is given of one slice, or of crops of several."""

    others: Tensor  # (B, C, M, M), in units of their noise, asinh
    own: Tensor  # (B, D, M, M)
    log_ridge: Tensor  # (B, M, M), of what is corrected


class _View:
    """Features as the network sees them."""

    def __init__(self, features: Features, ridge: Regression, device: torch.device) -> None:
        self._features, self._ridge, self._device = features, ridge, device

    def of(self, t: int) -> _NetworkInput:
        """Return the input of a whole slice. B = 1; features as half floats, of which many are held."""
        seen, expected = self._features.of(t), self._features.expected[t]
        log_ridge = np.log(np.maximum(self._ridge.predict(t, seen.regressed, expected), _SMALLEST_MEAN))
        changed = log_ridge - np.log(np.maximum(expected, _SMALLEST_MEAN))
        others = np.arcsinh(seen.others / seen.others_noise[:, None, None])
        own = np.arcsinh(seen.own / seen.own_noise[:, None, None])
        own = np.concatenate([own, log_ridge[None], changed[None]])
        return _NetworkInput(self._tensor(others).half(), self._tensor(own).half(), self._tensor(log_ridge))

    def _tensor(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(values.astype(np.float32))[None].to(self._device)


def _log_mean(seen: _NetworkInput, correction: Correction) -> Tensor:
    return seen.log_ridge + _LARGEST_CORRECTION * torch.tanh(correction.mean)


def _train(
    noisy: Slices, noise: Noise, view: _View, settings: BlindspotSettings, folder: str, progress: Progress
) -> BlindspotNetwork:
    """Train a network that makes the noisy counts of some slices as probable as it can."""
    chosen = evenly_spaced(len(noisy), _SLICES_HELD)
    held = [view.of(t) for t in chosen]
    device = held[0].others.device
    axis = Axis.of(noisy, noise)
    likelihood = _build_likelihood(axis, held)
    places = [torch.from_numpy(axis.places(noisy[t]).astype(np.int32)).to(device) for t in chosen]
    crops = _Crops(held, places, settings)
    identity = Identity("blindspot", settings.model_dump(mode="json"), _fingerprint(noisy, noise))
    epochs = -(-settings.steps // _STEPS_PER_EPOCH)
    with torch.random.fork_rng(devices=[]), progress.task("denoise: train blindspot", epochs) as update:
        torch.manual_seed(settings.seed)
        network = BlindspotNetwork(held[0].others.shape[1], held[0].own.shape[1]).to(device)
        network = network.to(memory_format=torch.channels_last)
        optimizer = Adam(network.parameters(), settings.learning_rate)
        log, _ = resume(folder, identity, network, optimizer)
        while len(log) < epochs:
            began = time.perf_counter()
            loss = _train_epoch(network, optimizer, crops, likelihood, len(log), settings)
            log.append({"epoch": len(log) + 1, "loss": loss, "seconds": round(time.perf_counter() - began, 3)})
            write_training_log(folder, log)
            save_checkpoint(folder, identity, log, network, optimizer, network.state_dict())
            update(len(log), f"loss {loss:.4f}")
    return network.eval().requires_grad_(False)


def _build_likelihood(axis: Axis, held: list[_NetworkInput]) -> MarginalLikelihood:
    """Return the likelihood in tables that reach as far as the network can correct."""
    largest = math.exp(max(float(seen.log_ridge.max()) for seen in held) + _LARGEST_CORRECTION)
    dispersions = [math.exp(_USUAL_DISPERSION + sign * _DISPERSION_REACH) for sign in (-1, 1)]
    means = (_SMALLEST_MEAN, largest)
    return MarginalLikelihood(axis, means, (dispersions[0], dispersions[1]), held[0].others.device)


def _fingerprint(noisy: Slices, noise: Noise) -> str:
    digest = hashlib.sha256(repr(noise).encode())
    digest.update(np.ascontiguousarray(noisy).data)  # without a copy of the tensor
    return digest.hexdigest()[:16]


def _train_epoch(
    network: BlindspotNetwork,
    optimizer: Adam,
    crops: _Crops,
    likelihood: MarginalLikelihood,
    epochs_done: int,
    settings: BlindspotSettings,
) -> float:
    """Take some steps on crops sampled from the epoch's own seed, as a continued run would. Returns the mean loss."""
    random = np.random.default_rng([settings.seed, epochs_done])
    first = epochs_done * _STEPS_PER_EPOCH
    steps = range(first, min(first + _STEPS_PER_EPOCH, settings.steps))
    total = 0.0
    for step in steps:
        for group in optimizer.param_groups:  # less and less, along a cosine
            group["lr"] = settings.learning_rate * 0.5 * (1 + math.cos(math.pi * step / settings.steps))
        seen, places = crops.sample(random)
        correction = network(seen.others, seen.own)
        loss = -likelihood.log(
            _log_mean(seen, correction),
            _USUAL_DISPERSION + _DISPERSION_REACH * torch.tanh(correction.dispersion),
            _USUAL_TAIL + _TAIL_REACH * torch.tanh(correction.tail),
            places.long(),
        ).mean()
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        total += float(loss.detach())
    return total / len(steps)


class _Crops:
    """Squares out of the slices held, most of them where people are."""

    def __init__(self, held: list[_NetworkInput], places: list[Tensor], settings: BlindspotSettings) -> None:
        self._held, self._places, self._settings = held, places, settings
        self._size = places[0].shape[0]
        self._side = min(settings.crop_size, self._size)
        mean = np.mean([np.exp(seen.log_ridge[0].cpu().numpy()) for seen in held], axis=0)
        chances = np.sqrt(local_mean(mean, _BUSY_WIDTH)).ravel().astype(np.float64)
        self._cumulated = np.cumsum(chances / chances.sum())

    def sample(self, random: np.random.Generator) -> tuple[_NetworkInput, Tensor]:
        """Return inputs and places of noisy counts of a batch, each crop flipped at random."""
        parts = [self._sample_crop(random) for _ in range(self._settings.batch_size)]
        others, own, log_ridge, places = (torch.cat(part) for part in zip(*parts, strict=True))
        return _NetworkInput(others, own, log_ridge), places

    def _sample_crop(self, random: np.random.Generator) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        number = int(random.integers(len(self._held)))
        south, west = self._sample_corner(random)
        rows, columns = slice(south, south + self._side), slice(west, west + self._side)
        seen = self._held[number]
        crop = [
            seen.others[..., rows, columns].float(),
            seen.own[..., rows, columns].float(),
            seen.log_ridge[..., rows, columns],
            self._places[number][None, rows, columns],
        ]
        flipped = [axis for axis in (-1, -2) if random.random() < 0.5]
        others, own, log_ridge, places = (part.flip(flipped) if flipped else part for part in crop)
        return others, own, log_ridge, places

    def _sample_corner(self, random: np.random.Generator) -> tuple[int, int]:
        last = self._size - self._side
        if random.random() >= _BUSY_CROPS:
            south, west = random.integers(last + 1, size=2)
            return int(south), int(west)
        cell = min(int(np.searchsorted(self._cumulated, random.random())), self._size**2 - 1)
        south, west = (coordinate - random.integers(self._side) for coordinate in divmod(cell, self._size))
        return int(np.clip(south, 0, last)), int(np.clip(west, 0, last))
