"""What the codes of a trained VQ-VAE look like: each of them decoded by itself, from the checkpoint alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from vdr_spark.arrays import Floats
from vdr_spark.denoise.networks.autoencoder import STRIDE, vqvae
from vdr_spark.denoise.networks.checkpoint import load_checkpoint
from vdr_spark.denoise.networks.vector_quantizer import VectorQuantizer

_AROUND = 2  # places of the same code on each side, so that the edge of nothing is not seen


@dataclass(frozen=True)
class CodeTiles:
    """A codebook, from its emptiest code to its busiest. Learnt from noisy counts, so it costs no privacy."""

    tiles: Floats  # (K, side, side), in the network's own unit
    shares: Floats  # (K,): of the places that each has won lately; they sum to 1


def read_code_tiles(folder: str) -> CodeTiles | None:
    """Return the codes of the best epoch of a VQ-VAE that was trained in a folder; None where there is none."""
    checkpoint = load_checkpoint(folder)
    if checkpoint is None or checkpoint.identity.model != "vqvae":
        return None
    settings, weights = checkpoint.identity.settings, checkpoint.best_weights
    model = vqvae(int(settings["codebook_size"]), int(settings["channels"]))
    model.load_state_dict(weights)
    model.eval()
    assert isinstance(model.bottleneck, VectorQuantizer)
    with torch.inference_mode():
        places = model.bottleneck.codebook[:, :, None, None].expand(-1, -1, 2 * _AROUND + 1, 2 * _AROUND + 1)
        decoded = model.decoder(places)[:, 0].numpy().astype(np.float64)  # (K, 20, 20)
    middle = slice((_AROUND - 1) * STRIDE, (_AROUND + 2) * STRIDE)
    tiles = decoded[:, middle, middle]
    wins = model.bottleneck.cluster_size.numpy().astype(np.float64)
    order = np.argsort(tiles.mean(axis=(1, 2)), kind="stable")
    return CodeTiles(tiles[order], (wins / max(wins.sum(), 1e-12))[order])
