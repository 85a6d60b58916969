"""The training set: every slice at several resolutions, all at the same image size, whole or as random crops.

Averaged over b x b blocks, what is in the slice stays (roads, blocks of houses) and the noise falls by b.
So the coarse versions show the model what the fine ones look like without noise. Crops are taken where people are:
nine tenths of a city are empty, and a model that is shown those learns to draw nothing.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from vdr_spark.denoise.statistics.local_mean import local_mean, remaining_variance

_BUSY_CROPS = 0.85  # of crops are sampled where people are; the rest anywhere
_BUSY_WIDTH = 4.0  # cells, of the map by which they are sampled
_NOISE_OF_EMPTY = 2  # deviations of that map's noise, which show nobody


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


class Crops:
    """Squares out of images (N, M, M), most where it is busy, each flipped at random; or the images as they are.

    `slices` (T, M, M) tell where it is busy, by what their mean is beyond its noise: they are noisy, so that costs no
    privacy. Everything is sampled by PyTorch's own generator.
    """

    def __init__(self, images: Tensor, slices: Tensor, side: int | None) -> None:
        self._images, self._size = images, images.shape[-1]
        self._side = None if side is None or side >= self._size else side
        self._cumulated = _cumulate_busyness(slices)
        # As many as have the pixels of the image, so that an epoch is as long as one of whole images.
        self._per_image = 1 if self._side is None else round((self._size / self._side) ** 2)

    def shuffle(self) -> Tensor:
        """Return the numbers of the images that squares of an epoch are cut out of, in random order."""
        return torch.randperm(len(self._images) * self._per_image) % len(self._images)

    def cut(self, chosen: Tensor) -> Tensor:
        """Return one square of each chosen image, by the numbers of B images. -> (B, S, S)"""
        side = self._side
        if side is None:
            return self._images[chosen]
        places = zip(chosen.tolist(), self._sample_corners(len(chosen), side).tolist(), strict=True)
        crops = torch.stack([self._images[number, y : y + side, x : x + side] for number, (y, x) in places])
        flipped = torch.rand(2, len(crops)) < 0.5
        for axis in (1, 2):
            crops = torch.where(flipped[axis - 1, :, None, None], crops.flip(axis), crops)
        return crops

    def _sample_corners(self, number: int, side: int) -> Tensor:
        """Return the first row and column of each square, (B, 2): around cells that are busy, or anywhere."""
        last = self._size - side
        cells = torch.searchsorted(self._cumulated, torch.rand(number, dtype=torch.float64))
        cells = cells.clamp(max=self._size**2 - 1)
        around = torch.stack([cells // self._size, cells % self._size], dim=1) - torch.randint(side, (number, 2))
        anywhere = torch.randint(last + 1, (number, 2))
        is_busy = torch.rand(number, 1) < _BUSY_CROPS
        return torch.where(is_busy, around.clamp(0, last), anywhere)


def _cumulate_busyness(slices: Tensor) -> Tensor:
    """Return the cumulated chances of all cells, row by row; equal ones where there is nothing. (T, M, M) -> (M*M,)"""
    mean = local_mean(slices.double().mean(0).numpy(), _BUSY_WIDTH)
    # Empty country is so large that half of its noise, all above zero, would outweigh a city.
    chances = np.maximum(mean - _NOISE_OF_EMPTY * _deviation_of_mean(slices), 0).ravel()
    cumulated = np.cumsum(chances if chances.any() else np.ones_like(chances))
    return torch.from_numpy(cumulated / cumulated[-1])


def _deviation_of_mean(slices: Tensor) -> float:
    """Return the deviation of the map's noise, by how a cell in the middle of all varies among slices; 0 of one slice.

    Where most cells are busy that is more than noise alone, and still little beside what is there.
    """
    if len(slices) == 1:
        return 0.0
    variance = float(slices.double().var(0).median()) / len(slices)
    return float(np.sqrt(variance * remaining_variance(_BUSY_WIDTH)))
