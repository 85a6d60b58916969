"""The paper's model: a convolutional autoencoder of one slice whose middle is drawn with few codes.

What repeats (roads, blocks, hours) is worth a code; noise, which does not repeat, is not, and gets lost.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from vdr_spark.denoise.models.vector_quantizer import VectorQuantizer

STRIDE = 4  # pixels of a slice, along each side, that one code stands for
_BLOCKS = 2  # residual blocks, before and after the codebook


class VqvaeOutput(NamedTuple):
    reconstruction: Tensor  # (B, 1, M, M)
    indices: Tensor  # (B, M/4, M/4), rounded up
    regularisation: Tensor  # (), the quantiser's commitment loss


class Vqvae(nn.Module):
    """(B, 1, M, M) -> (B, 1, M, M) for any M; a quarter of the resolution in between."""

    def __init__(self, codes: int = 128, channels: int = 64, decay: float = 0.99, commitment: float = 0.25) -> None:
        super().__init__()
        self.encoder = encoder(channels)
        self.quantizer = VectorQuantizer(codes, channels, decay, commitment)
        self.decoder = decoder(channels)

    def forward(self, x: Tensor) -> VqvaeOutput:
        height, width = x.shape[-2:]
        # Repeating the edge invents no coast, as zeros would, and works for a 2 x 2 grid, unlike reflection.
        padded = F.pad(x, (0, -width % STRIDE, 0, -height % STRIDE), mode="replicate")  # (B, 1, M', M')
        quantized, indices, regularisation = self.quantizer(self.encoder(padded))  # (B, 64, M'/4, M'/4)
        reconstruction = self.decoder(quantized)[..., :height, :width]  # (B, 1, M, M)
        return VqvaeOutput(reconstruction, indices, regularisation)


class ResidualBlock(nn.Module):
    """x + f(x), (B, C, H, W) -> (B, C, H, W)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.change = nn.Sequential(
            nn.ReLU(),
            nn.Conv2d(channels, channels // 2, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(channels // 2, channels, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        changed: Tensor = x + self.change(x)
        return changed


def encoder(channels: int) -> nn.Sequential:
    """(B, 1, M, M) -> (B, C, M/4, M/4)"""
    return nn.Sequential(
        nn.Conv2d(1, channels // 2, 4, stride=2, padding=1),  # (B, C/2, M/2, M/2)
        nn.ReLU(),
        nn.Conv2d(channels // 2, channels, 4, stride=2, padding=1),  # (B, C, M/4, M/4)
        nn.ReLU(),
        nn.Conv2d(channels, channels, 3, padding=1),
        *(ResidualBlock(channels) for _ in range(_BLOCKS)),
        nn.ReLU(),
        nn.Conv2d(channels, channels, 1),  # codes may be negative: no ReLU after this
    )


def decoder(channels: int) -> nn.Sequential:
    """(B, C, M/4, M/4) -> (B, 1, M, M)"""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1),  # (B, C, M/4, M/4)
        *(ResidualBlock(channels) for _ in range(_BLOCKS)),
        nn.ReLU(),
        nn.ConvTranspose2d(channels, channels // 2, 4, stride=2, padding=1),  # (B, C/2, M/2, M/2)
        nn.ReLU(),
        nn.ConvTranspose2d(channels // 2, 1, 4, stride=2, padding=1),  # (B, 1, M, M)
    )
