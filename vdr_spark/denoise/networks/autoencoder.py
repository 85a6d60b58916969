"""A convolutional autoencoder of one slice, with a narrow bottleneck: the paper's model and its continuous sibling.

What repeats (roads, blocks, hours) gets through the bottleneck; noise, which does not repeat, gets lost. With a
codebook as bottleneck it is the paper's VQ-VAE, with a Gaussian it is a VAE.
"""

from __future__ import annotations

from typing import NamedTuple

from torch import Tensor, nn
from torch.nn import functional as F

from vdr_spark.denoise.networks.gaussian import Gaussian
from vdr_spark.denoise.networks.initialise import initialise
from vdr_spark.denoise.networks.standardise import Standardise
from vdr_spark.denoise.networks.vector_quantizer import VectorQuantizer

STRIDE = 4  # pixels of a slice, along each side, that one place in the bottleneck stands for
_BLOCKS = 2  # residual blocks, before and after the bottleneck


class Output(NamedTuple):
    """What an autoencoder makes of images."""

    reconstruction: Tensor  # (B, 1, M, M)
    indices: Tensor | None  # of codes, (B, M/4, M/4) rounded up; None without a codebook
    regularisation: Tensor  # (): the quantiser's commitment loss, or the Gaussian's divergence


class Autoencoder(nn.Module):
    """(B, 1, M, M) -> (B, 1, M, M) for any M; a quarter of the resolution in between.

    The bottleneck's contract is `passed_on, indices, regularisation = bottleneck(x)`, and `norm` comes before it.
    """

    def __init__(self, channels: int, norm: nn.Module, bottleneck: nn.Module) -> None:
        super().__init__()
        self.encoder = build_encoder(channels)
        self.norm = norm
        self.bottleneck = bottleneck
        self.decoder = build_decoder(channels)

    def forward(self, x: Tensor) -> Output:
        height, width = x.shape[-2:]
        # Repeating the edge invents no coast, as zeros would, and works for a 2 x 2 grid, unlike reflection.
        padded = F.pad(x, (0, -width % STRIDE, 0, -height % STRIDE), mode="replicate")  # (B, 1, M', M')
        passed_on, indices, regularisation = self.bottleneck(self.norm(self.encoder(padded)))  # (B, 64, M'/4, M'/4)
        reconstruction = self.decoder(passed_on)[..., :height, :width]  # (B, 1, M, M)
        return Output(reconstruction, indices, regularisation)


def vqvae(
    codebook_size: int = 128, channels: int = 64, ema_decay: float = 0.99, commitment_weight: float = 0.25
) -> Autoencoder:
    """Return a new model of the paper."""
    codebook = VectorQuantizer(codebook_size, channels, ema_decay, commitment_weight)
    model = Autoencoder(channels, Standardise(channels), codebook)
    initialise(model)  # else all places look alike to the codebook, within 1 % around one point
    return model


def vae(channels: int = 64) -> Autoencoder:
    """Return the same with a continuous bottleneck."""
    return Autoencoder(channels, nn.Identity(), Gaussian(channels))


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


def build_encoder(channels: int) -> nn.Sequential:
    """Return layers (B, 1, M, M) -> (B, C, M/4, M/4)."""
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


def build_decoder(channels: int) -> nn.Sequential:
    """Return layers (B, C, M/4, M/4) -> (B, 1, M, M)."""
    return nn.Sequential(
        nn.Conv2d(channels, channels, 3, padding=1),  # (B, C, M/4, M/4)
        *(ResidualBlock(channels) for _ in range(_BLOCKS)),
        nn.ReLU(),
        nn.ConvTranspose2d(channels, channels // 2, 4, stride=2, padding=1),  # (B, C/2, M/2, M/2)
        nn.ReLU(),
        nn.ConvTranspose2d(channels // 2, 1, 4, stride=2, padding=1),  # (B, 1, M, M)
    )
