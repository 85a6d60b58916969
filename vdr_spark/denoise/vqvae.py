"""The paper's denoiser: a VQ-VAE trained on the noisy slices, then asked to draw each of them again."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vdr_spark.config.settings import VqvaeSettings
from vdr_spark.denoise.device import choose_device
from vdr_spark.denoise.models.vqvae import Vqvae
from vdr_spark.denoise.training import Progress, train
from vdr_spark.errors import InvalidInput


def vqvae_prior(
    noisy: NDArray[np.float32], settings: VqvaeSettings, device: str, folder: str, progress: Progress
) -> NDArray[np.float32]:
    """The counts, at least 0, that the trained model draws in place of the noisy ones. (T, M, M) -> (T, M, M)

    `folder` keeps the training: a run that was killed is continued, a finished one is not trained again.
    Reads the noisy tensor only, so it is post-processing and costs no privacy.
    """
    if not np.isfinite(noisy).all():
        raise InvalidInput("the noisy tensor holds values that are not finite numbers; collect again")
    place = choose_device(device)
    # One scale for all slices: training runs alike at any noise level, and busy hours stay busy ones.
    scale = float(noisy.std(dtype=np.float64)) or 1.0
    slices = torch.from_numpy(np.divide(noisy, scale, dtype=np.float32))  # (T, M, M)
    model = train(slices, settings, place, folder, progress)
    drawn = reconstruct(model, slices, settings.batch, place)
    return np.maximum(drawn.numpy() * np.float32(scale), 0)


@torch.inference_mode()
def reconstruct(model: Vqvae, slices: Tensor, batch: int, device: torch.device) -> Tensor:
    """What the model draws for each slice, on the CPU. (T, M, M) -> (T, M, M)"""
    model.eval()  # else looking at slices would move the codebook
    drawn = torch.empty_like(slices)
    for first in range(0, len(slices), batch):
        part = slice(first, first + batch)
        drawn[part] = model(slices[part, None].to(device)).reconstruction[:, 0].cpu()  # (B, M, M)
    return drawn
