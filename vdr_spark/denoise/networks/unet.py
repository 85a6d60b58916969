"""A small network that corrects a prediction without looking at the cell it predicts.

Features of other slices go through a U-Net of three levels, which sees shapes. Features of the cell's own slice hold
the noise of the cells around it, and theirs hold the cell's own: so they are joined by 1 x 1 convolutions only, and
what a cell is told never depends on its own noisy count.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vdr_spark.denoise.networks.initialise import initialise

_WIDTHS = (16, 24, 32)  # channels of the levels
_HEAD = 32
_LEVELS_APART = 4  # pixels of the first level along the side of one of the last


class Correction(NamedTuple):
    """What the network says of each cell: numbers without bounds, 0 in a new network. (B, M, M) each"""

    mean: Tensor
    dispersion: Tensor
    tail: Tensor


class BlindspotNetwork(nn.Module):
    """Features of other slices (B, C, M, M) and of the own slice (B, D, M, M) to a correction, for any M."""

    def __init__(self, others: int, own: int) -> None:
        super().__init__()
        first, second, third = _WIDTHS
        self.down = nn.ModuleList(
            [_build_block(others, first), _build_block(first, second), _build_block(second, third)]
        )
        self.up = nn.ModuleList([_build_block(second + third, second), _build_block(first + second, first)])
        self.head = nn.Sequential(
            nn.Conv2d(first + others + own, _HEAD, 1), nn.SiLU(), nn.Conv2d(_HEAD, _HEAD, 1), nn.SiLU()
        )
        self.last = nn.Conv2d(_HEAD, 3, 1)
        initialise(self, gain=math.sqrt(2))  # else the U-Net says next to nothing beside what the head sees itself
        nn.init.zeros_(self.last.weight)

    def forward(self, others: Tensor, own: Tensor) -> Correction:
        height, width = others.shape[-2:]
        padding = (0, -width % _LEVELS_APART, 0, -height % _LEVELS_APART)
        others, own = (F.pad(x, padding, mode="replicate") for x in (others, own))
        fine = self.down[0](others)  # (B, 16, M, M)
        middle = self.down[1](F.avg_pool2d(fine, 2))  # (B, 24, M/2, M/2)
        coarse = self.down[2](F.avg_pool2d(middle, 2))  # (B, 32, M/4, M/4)
        middle = self.up[0](torch.cat([middle, _upsample(coarse)], dim=1))
        fine = self.up[1](torch.cat([fine, _upsample(middle)], dim=1))
        correction = self.last(self.head(torch.cat([fine, others, own], dim=1)))[..., :height, :width]
        return Correction(*correction.unbind(dim=1))


def _build_block(inside: int, outside: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, padding=1), nn.SiLU(), nn.Conv2d(outside, outside, 3, padding=1), nn.SiLU()
    )


def _upsample(x: Tensor) -> Tensor:
    """Make an image twice as large along each side."""
    return F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
