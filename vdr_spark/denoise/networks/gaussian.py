"""A continuous bottleneck (Kingma and Welling 2014): each place holds a Gaussian, and a sample of it is passed on.

The layer's contract is that of the vector quantiser, `passed_on, None, loss = gaussian(x)`. The loss is the
divergence from a standard normal: information that gets through is paid for, and noise is not worth its price.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vdr_spark.denoise.networks.process_group import sample_shard


class Gaussian(nn.Module):
    """(B, D, H, W) -> sample (B, D, H, W) in training, mean otherwise; None; divergence per number ()."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.parameters_of = nn.Conv2d(dim, 2 * dim, 1)  # mean and log variance

    def forward(self, x: Tensor) -> tuple[Tensor, None, Tensor]:
        mean, log_variance = self.parameters_of(x).float().chunk(2, dim=1)  # (B, D, H, W) each
        log_variance = log_variance.clamp(-20, 20)  # beyond, its exponential is no number of use
        divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance)
        loss = divergence.sum() / max(1, divergence.numel())
        if not self.training:
            return mean, None, loss
        deviation: Tensor = torch.exp(0.5 * log_variance)
        # Sampled for the whole batch and alike on every device, whichever process has which shard of it.
        noise = sample_shard(mean.shape, torch.randn).to(mean.device)
        return mean + deviation * noise, None, loss
