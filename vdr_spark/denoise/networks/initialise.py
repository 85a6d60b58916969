"""Initial weights by which every layer passes on the variance of what it sees.

PyTorch's own weights pass on a third of it, and biases as large as that: after ten layers all places look alike.
"""

from __future__ import annotations

import math

from torch import nn


def initialise(model: nn.Module, gain: float = 1.0) -> None:
    """Give every convolution of a model such weights (LeCun's for a gain of 1, He's for sqrt(2)), and no biases."""
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d | nn.ConvTranspose2d):
            seen = layer.in_channels * math.prod(layer.kernel_size)
            if isinstance(layer, nn.ConvTranspose2d):
                seen //= math.prod(layer.stride)  # so many of the kernel's taps meet in a pixel
            nn.init.normal_(layer.weight, std=gain * seen**-0.5)
            nn.init.zeros_(layer.bias)  # type: ignore[arg-type]
