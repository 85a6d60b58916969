"""Processes that train one model together: each takes a part of every batch, and sums go over all of them.

What they compute is what one process would: the same order of images, the same random numbers, gradients and codebook
from the whole batch. A process that is alone is a team of one, and all of this does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, distributed, nn


@dataclass(frozen=True)
class Team:
    rank: int = 0
    size: int = 1

    @property
    def leads(self) -> bool:
        """The one that writes checkpoints and the log."""
        return self.rank == 0

    def part(self, batch: Tensor) -> Tensor:
        """The images of a batch that are this process's; none, where the batch is smaller than the team."""
        return batch[self.rank :: self.size]


def team() -> Team:
    if not distributed.is_available() or not distributed.is_initialized():
        return Team()
    return Team(distributed.get_rank(), distributed.get_world_size())


def added_up(tensor: Tensor) -> Tensor:
    """The sum over the team, in place."""
    if team().size > 1:
        distributed.all_reduce(tensor)
    return tensor


def add_up_gradients(parameters: Iterable[nn.Parameter]) -> None:
    """One message for all of them: the models are small."""
    if team().size == 1:
        return
    present = [parameter for parameter in parameters if parameter.requires_grad]
    gradients = [torch.zeros_like(p) if p.grad is None else p.grad for p in present]
    flat = added_up(torch.cat([gradient.flatten() for gradient in gradients]))
    for parameter, part in zip(present, torch.split(flat, [p.numel() for p in present]), strict=True):
        parameter.grad = part.view_as(parameter)


def whole_batch(shape: Sequence[int], draw: Callable[..., Tensor]) -> Tensor:
    """Random numbers for this process's part of a batch, out of those that one process would draw for all of it."""
    images = int(added_up(torch.tensor(shape[0])))
    return team().part(draw(images, *shape[1:]))


def chosen_vectors(flat: Tensor, per_image: int, wanted: int) -> Tensor:
    """Vectors of the whole batch, chosen at random, the same for all of the team. (N, D) -> (wanted, D)

    `flat` holds this process's part, `per_image` vectors for each image.
    """
    if wanted == 0:
        return flat[:0]
    ours = team()
    total = int(added_up(torch.tensor(len(flat))))
    place = torch.randint(total, (wanted,))  # drawn alike on every device
    image, within = place // per_image, place % per_image
    mine = (image % ours.size) == ours.rank
    local = torch.where(mine, (image // ours.size) * per_image + within, 0).to(flat.device)
    chosen = flat[local] if len(flat) else flat.new_zeros(wanted, flat.shape[1])
    return added_up(chosen * mine.to(flat.device)[:, None].to(flat.dtype))
