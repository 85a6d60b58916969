"""Processes that train one model together: each takes a shard of every batch, and sums go over all of them.

What they compute is what one process would: the same order of images, the same random numbers, gradients and codebook
from the whole batch. A process that is alone is a group of one, and all of this does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn


@dataclass(frozen=True)
class ProcessGroup:
    """The place of this process among those that train together."""

    rank: int = 0
    size: int = 1

    @property
    def is_rank_zero(self) -> bool:
        """Whether this is the process that writes checkpoints and the log."""
        return self.rank == 0

    def shard(self, batch: Tensor) -> Tensor:
        """Return the images of a batch that are this process's; none, where the batch is smaller than the group."""
        return batch[self.rank :: self.size]


def process_group() -> ProcessGroup:
    """Return PyTorch's process group as this process sees it; a group of one where none was formed."""
    if not distributed.is_available() or not distributed.is_initialized():
        return ProcessGroup()
    return ProcessGroup(distributed.get_rank(), distributed.get_world_size())


def all_reduce_sum(tensor: Tensor) -> Tensor:
    """Add a tensor up over the group, in place, and return it."""
    if process_group().size > 1:
        distributed.all_reduce(tensor)
    return tensor


class _Sum(torch.autograd.Function):
    """A sum over the group. Every process's loss depends on every part: gradients are added up on their way back.

    PyTorch's own is deprecated where it is new, and not in every build.
    """

    @staticmethod
    def forward(_context: object, tensor: Tensor) -> Tensor:
        return all_reduce_sum(tensor.clone())

    @staticmethod
    def backward(_context: object, *gradients: Tensor) -> Tensor:
        return all_reduce_sum(gradients[0].clone())


def all_reduce_with_gradient(tensor: Tensor) -> Tensor:
    """Return a tensor added up over the group, through which gradients flow back to every process."""
    if process_group().size == 1:
        return tensor
    total: Tensor = _Sum.apply(tensor)
    return total


def all_reduce_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """Add all gradients up over the group, in one message: the models are small."""
    if process_group().size == 1:
        return
    present = [parameter for parameter in parameters if parameter.requires_grad]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in present]
    flat = all_reduce_sum(torch.cat([gradient.flatten() for gradient in gradients]))
    for parameter, part in zip(present, torch.split(flat, [p.numel() for p in present]), strict=True):
        parameter.grad = part.view_as(parameter)


def sample_shard(shape: Sequence[int], sample: Callable[..., Tensor]) -> Tensor:
    """Return random numbers for this process's shard of a batch, out of those that one process would sample for all.

    `shape` is the shard's, `sample` gives numbers of a shape, as `torch.randn` does.
    """
    images = int(all_reduce_sum(torch.tensor(shape[0])))
    return process_group().shard(sample(images, *shape[1:]))


def choose_vectors(flat: Tensor, per_image: int, number: int) -> Tensor:
    """Choose vectors of the whole batch at random, the same in every process. (N, D) -> (number, D)

    `flat` holds this process's shard, `per_image` vectors for each image.
    """
    if number == 0:
        return flat[:0]
    group = process_group()
    total = int(all_reduce_sum(torch.tensor(len(flat))))
    place = torch.randint(total, (number,))  # sampled alike on every device
    image, within = place // per_image, place % per_image
    mine = (image % group.size) == group.rank
    local = torch.where(mine, (image // group.size) * per_image + within, 0).to(flat.device)
    chosen = flat[local] if len(flat) else flat.new_zeros(number, flat.shape[1])
    return all_reduce_sum(chosen * mine.to(flat.device)[:, None].to(flat.dtype))
