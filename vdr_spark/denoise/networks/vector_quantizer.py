"""A codebook that vectors are rounded to, learnt by moving averages (van den Oord et al. 2017, appendix A.1).

The layer's contract is `quantized, indices, loss = vq(x)`. The codes follow the vectors they win, without a
gradient; the vectors are pulled to their codes by the commitment loss, which is what `loss` holds.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vdr_spark.denoise.networks.process_group import all_reduce_sum, choose_vectors

_SMOOTHING = 1e-5  # Laplace smoothing of cluster sizes, so that no code divides by zero
_DEAD_BELOW = 0.5  # a code is dead that wins less than one vector in two batches


class VectorQuantizer(nn.Module):
    """K codes of D numbers. (B, D, H, W) -> quantized (B, D, H, W), indices (B, H, W), loss ()."""

    codebook: Tensor
    cluster_size: Tensor
    cluster_sum: Tensor

    def __init__(self, codebook_size: int, dim: int, ema_decay: float = 0.99, commitment_weight: float = 0.25) -> None:
        super().__init__()
        self.ema_decay = ema_decay
        self.commitment_weight = commitment_weight
        self.register_buffer("codebook", torch.randn(codebook_size, dim))  # (K, D)
        # The averages start at nothing. So codes that win nothing in the first batch are dead and come back
        # as vectors of that batch, and the codebook begins where the data are.
        self.register_buffer("cluster_size", torch.zeros(codebook_size))  # (K,)
        self.register_buffer("cluster_sum", torch.zeros(codebook_size, dim))  # (K, D)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        vectors = x.float().permute(0, 2, 3, 1)  # (B, H, W, D); distances need all the digits
        flat = vectors.reshape(-1, vectors.shape[-1])  # (N, D), N = B*H*W
        indices = self.find_nearest(flat)  # (N,)
        quantized = self.codebook[indices].view_as(vectors)  # (B, H, W, D)
        loss = self.commitment_weight * F.mse_loss(vectors, quantized, reduction="sum") / max(1, vectors.numel())
        if self.training:
            self._update_codebook(flat.detach(), indices, x.shape[-2] * x.shape[-1])
        # Straight through: the value is the code's, the gradient reaches the vector as if they were the same.
        passed_on = vectors + (quantized - vectors).detach()
        return passed_on.permute(0, 3, 1, 2), indices.view(vectors.shape[:-1]), loss

    def find_nearest(self, flat: Tensor) -> Tensor:
        """Return the number of the nearest code of each vector. (N, D) -> (N,)"""
        # |x|^2 is the same for all codes and is left out.
        with torch.autocast(flat.device.type, enabled=False):
            distance = self.codebook.square().sum(1) - 2 * flat.detach() @ self.codebook.T  # (N, K)
        return distance.argmin(1)

    # Counting and reviving have shapes that depend on values: no work for a compiler.
    @torch.compiler.disable  # type: ignore[untyped-decorator]
    @torch.no_grad()
    def _update_codebook(self, flat: Tensor, indices: Tensor, per_image: int) -> None:
        """Move each code towards the mean of the vectors it has won lately."""
        wins = all_reduce_sum(self._sum_wins(flat, indices))  # (K, 1 + D)
        self.cluster_size.lerp_(wins[:, 0], 1 - self.ema_decay)
        self.cluster_sum.lerp_(wins[:, 1:], 1 - self.ema_decay)
        total = self.cluster_size.sum()
        share = (self.cluster_size + _SMOOTHING) / (total + len(self.codebook) * _SMOOTHING)
        self.codebook.copy_(self.cluster_sum / (share * total)[:, None])
        self._revive(flat, per_image, wins=float(wins[:, 0].sum()))

    def _sum_wins(self, flat: Tensor, indices: Tensor) -> Tensor:
        """Return how many vectors each code has won, and their sum. (N, D), (N,) -> (K, 1 + D)"""
        # A matrix product and not `index_add_`, which adds in another order each time on a GPU.
        won = F.one_hot(indices, len(self.codebook)).to(flat.dtype)  # (N, K)
        with torch.autocast(flat.device.type, enabled=False):
            return torch.cat([won.sum(0)[:, None], won.T @ flat], dim=1)

    def _revive(self, flat: Tensor, per_image: int, wins: float) -> None:
        """Put dead codes onto vectors of this batch, chosen at random."""
        fair = min(1.0, wins / len(self.codebook))  # wins a code may expect; small images have few vectors
        dead = (self.cluster_size < _DEAD_BELOW * fair).nonzero()[:, 0]
        chosen = choose_vectors(flat, per_image, len(dead))
        self.codebook[dead] = chosen
        self.cluster_size[dead] = fair
        self.cluster_sum[dead] = chosen * fair


def perplexity(wins: Tensor) -> float:
    """Return how many codes are in use, counted by evenness: from 1 (one code wins all vectors) to K. (K,) -> ()"""
    share = wins.double() / wins.sum().clamp(min=1)
    return float(torch.exp(-torch.special.xlogy(share, share).sum()))
