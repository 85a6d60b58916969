"""What a new network is; that it is blind, and what it learns, stands with the prior."""

import pytest
import torch
from torch import Tensor, nn

from vdr_spark.denoise.networks.unet import BlindspotNetwork


@pytest.fixture
def network() -> BlindspotNetwork:
    torch.manual_seed(0)
    return BlindspotNetwork(others=12, own=6)


def test_a_new_network_corrects_nothing(network: BlindspotNetwork) -> None:
    correction = network(torch.randn(2, 12, 19, 19), torch.randn(2, 6, 19, 19))
    assert all(of.shape == (2, 19, 19) and not of.any() for of in correction)


def test_what_a_new_network_sees_keeps_its_variance_through_all_levels(network: BlindspotNetwork) -> None:
    """With PyTorch's own weights places differ by a hundredth of that from the second level on."""
    apart: list[float] = []

    def watch(_: nn.Module, __: tuple[Tensor], given: Tensor) -> None:
        apart.append(float(given.std(dim=(0, 2, 3)).mean()))

    for block in (*network.down, *network.up):
        block.register_forward_hook(watch)
    with torch.inference_mode():
        network(_draw_blocks(12), _draw_blocks(6))
    assert len(apart) == 5
    assert min(apart) > 0.05
    assert max(apart) < 2


def test_the_gradient_reaches_the_coarsest_level(network: BlindspotNetwork) -> None:
    """With PyTorch's own weights its square is a billionth of that of the head, or less."""
    nn.init.normal_(network.last.weight)
    network(_draw_blocks(12), _draw_blocks(6)).mean.square().mean().backward()
    coarse, head = network.down[2][0].weight.grad, network.head[0].weight.grad
    assert coarse.square().mean() > 1e-6 * head.square().mean()


def _draw_blocks(channels: int) -> Tensor:
    """Return noise in blocks of 4 x 4, which the means over 2 x 2 cells between levels leave as it is."""
    return torch.randn(2, channels, 16, 16).repeat_interleave(4, -1).repeat_interleave(4, -2)
