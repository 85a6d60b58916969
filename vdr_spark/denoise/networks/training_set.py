"""The training set: every slice at several resolutions, all at the same image size, whole or as random crops.

Averaged over b x b blocks, what is in the slice stays (roads, blocks of houses) and the noise falls by b.
So the coarse versions show the model what the fine ones look like without noise.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F


def stack_resolutions(slices: Tensor, resolutions: int) -> Tensor:
    """Average the slices over 1 x 1, 2 x 2, ... r x r blocks. (T, M, M) -> (r*T, M, M)"""
    return torch.cat([average_blocks(slices, side) for side in range(1, resolutions + 1)])


def average_blocks(slices: Tensor, side: int) -> Tensor:
    """Replace each pixel by the mean of its `side` x `side` block. (T, M, M) -> (T, M, M)

    A mean and not a sum keeps the scale comparable. Blocks that stick out over the edge are averaged over the
    cells they have.
    """
    height, width = slices.shape[-2:]
    overhang = (-height % side, -width % side)
    padded = F.pad(slices[:, None], (0, overhang[1], 0, overhang[0]))  # (T, 1, M', M'), M' a multiple of b
    present = F.pad(torch.ones_like(slices[:1, None]), (0, overhang[1], 0, overhang[0]))  # (1, 1, M', M')
    means = F.avg_pool2d(padded, side) / F.avg_pool2d(present, side)  # (T, 1, M'/b, M'/b)
    blocks = means.repeat_interleave(side, dim=-2).repeat_interleave(side, dim=-1)  # (T, 1, M', M')
    return blocks[:, 0, :height, :width]


def random_crops(images: Tensor, chosen: Tensor, side: int | None) -> Tensor:
    """Return a square somewhere in each chosen image; all of it where `side` is None or larger. -> (B, S, S)

    `images` are (N, M, M), `chosen` the numbers of B of them. The squares come from PyTorch's own generator.
    """
    size = images.shape[-1]
    if side is None or side >= size:
        return images[chosen]
    corners = torch.randint(size - side + 1, (len(chosen), 2)).tolist()
    places = zip(chosen.tolist(), corners, strict=True)
    return torch.stack([images[number, y : y + side, x : x + side] for number, (y, x) in places])
