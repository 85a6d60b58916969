"""Vectors brought to mean 0 and variance 1 in every channel, over the whole batch (Ioffe and Szegedy 2015).

Before a codebook, it keeps the distance between vectors at the scale of the codes, however the encoder's weights grow
or shrink. PyTorch's own layer knows the batch of its process alone, or GPUs alone; this one sums over the process
group.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from vdr_spark.denoise.networks.process_group import all_reduce_with_gradient

_SMALLEST_VARIANCE = 1e-5
_MOMENTUM = 0.01  # of the averages that stand for a batch when there is none to look at


class Standardise(nn.Module):
    """(B, D, H, W) -> (B, D, H, W): by the batch in training, by averages over past batches otherwise."""

    batches: Tensor
    mean: Tensor
    variance: Tensor

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.register_buffer("batches", torch.zeros(()))  # seen so far
        self.register_buffer("mean", torch.zeros(dim))  # (D,)
        self.register_buffer("variance", torch.ones(dim))  # (D,)

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        mean, variance = self._look_at(x) if self.training else (self.mean, self.variance)  # (D,) each
        scaled: Tensor = (x - mean[:, None, None]) * torch.rsqrt(variance + _SMALLEST_VARIANCE)[:, None, None]
        return scaled

    def _look_at(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and variance of a batch in each channel, and let the averages follow."""
        number = torch.full_like(self.mean, x.numel() / x.shape[1])
        sums = torch.stack([number, x.sum((0, 2, 3)), x.square().sum((0, 2, 3))])  # (3, D)
        number, total, squares = all_reduce_with_gradient(sums)
        mean = total / number.clamp(min=1)
        variance = (squares / number.clamp(min=1) - mean.square()).clamp(min=0)
        self._follow(mean.detach(), variance.detach(), (number[0] > 0).float())
        return mean, variance

    @torch.no_grad()
    def _follow(self, mean: Tensor, variance: Tensor, seen: Tensor) -> None:
        # The plain mean of the first batches, so that nothing is left of where it began.
        self.batches += seen
        share = seen * (1 / self.batches.clamp(min=1)).clamp(min=_MOMENTUM)
        self.mean.lerp_(mean, share)
        self.variance.lerp_(variance, share)
