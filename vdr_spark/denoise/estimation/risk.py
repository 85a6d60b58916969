"""How wrong an estimate is, from noisy counts alone.

The noise n is independent from cell to cell and its distribution is known, so no truth is needed. With y = x + n the
noisy count and g(y) the estimate of x,

    E (g - x)^2  =  E (y - g)^2  +  2 E n g(y)  -  V,        V the variance of n.

For discrete Laplace noise, P(n) = (1 - q) / (1 + q) * q^|n|, the middle term can be had from y too. The transform
of P is (1 - q)^2 / (1 - 2 q cos w + q^2); its logarithmic derivative is that of a difference of neighbours, so

    E n g(y)  =  q / (1 - q)^2 * E [G(y + 1) - G(y - 1)],    G(y) = E g(y + m), m a further draw of the noise,

and summed by parts that is (1 + q) / (1 - q) / 2 * E [g(y + |m|) - g(y - |m|)]. So we push some cells up and down by
draws of our own, and look how far the estimate follows: an estimate that follows its own noise pays for it. Nothing
has to be smooth, which a codebook is not. The expectation is exact for one cell pushed alone; many are pushed at
once, few and far between, each in a direction of its own, so that what they do to each other cancels.

Everything here is post-processing. The draws are seeded: two estimates are compared under the same pushes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.config.privacy import PrivacySettings

Slices = NDArray[np.float32]
Estimate = Callable[[Slices], Slices]

_BLOCK = 8  # cells along each side of a block in which one is pushed


@dataclass(frozen=True)
class Noise:
    """Discrete Laplace noise of a scale, in pings, on counts that are whole multiples of 1 / unit."""

    scale: float
    unit: int = 1

    @classmethod
    def of(cls, privacy: PrivacySettings) -> Noise:
        return cls(float(privacy.scale), privacy.unit)

    @property
    def _q(self) -> float:
        return math.exp(-1 / (self.scale * self.unit))

    @property
    def variance(self) -> float:
        """In pings squared."""
        # 1 - q without cancellation, for scales of 10**9 units.
        return 2 * self._q / (math.expm1(-1 / (self.scale * self.unit)) * self.unit) ** 2

    @property
    def reach(self) -> float:
        """(1 + q) / (1 - q), in pings: what one push is worth."""
        return -(1 + self._q) / math.expm1(-1 / (self.scale * self.unit)) / self.unit

    def pushes(self, shape: tuple[int, ...], random: np.random.Generator) -> Slices:
        """|m| for draws m of the noise, in pings."""
        p = -math.expm1(-1 / (self.scale * self.unit))
        draws = random.geometric(p, shape) - random.geometric(p, shape)
        return (np.abs(draws) / self.unit).astype(np.float32)


def estimated_risk(
    noisy: Slices, estimate: Estimate, noise: Noise, seed: int = 0, weights: Slices | None = None
) -> float:
    """The mean squared error per cell, in pings squared, of what `estimate` makes of a noisy tensor (T, M, M).

    `weights` (M, M) or (T, M, M), of mean 1, say how much each cell matters; a cell's own noise may not be in its
    weight. May come out below zero: it is an estimate, and differences between methods are more reliable than its
    level.
    """
    return float(estimated_risks(noisy, estimate, noise, [weights], seed)[0].mean())


def estimated_risks(
    noisy: Slices,
    estimate: Estimate,
    noise: Noise,
    weightings: Sequence[Slices | None],
    seed: int = 0,
    cell_by_cell: bool = False,
) -> list[NDArray[np.float64]]:
    """The same for each slice, under several weightings of the cells; None: all matter alike. (T,) each

    `cell_by_cell`: the estimate of a cell looks at no noisy count but the cell's own, so all can be pushed at once.
    """
    random = np.random.default_rng(seed)
    pushed = np.nonzero(np.ones_like(noisy, np.bool_)) if cell_by_cell else _one_in_each_block(noisy.shape, random)
    push = np.zeros_like(noisy)
    # Up first or down first, by chance: else what neighbours do to each other would add up.
    sign = random.choice(np.array([-1, 1], np.float32), pushed[0].shape)
    push[pushed] = sign * noise.pushes(pushed[0].shape, random)
    residual = np.square(noisy - estimate(noisy))
    followed = sign * (estimate(noisy + push)[pushed] - estimate(noisy - push)[pushed])
    risks = []
    for weights in weightings:
        matters = np.broadcast_to(np.float32(1) if weights is None else weights, noisy.shape)
        far = np.mean(matters * residual, axis=(1, 2), dtype=np.float64)
        slope = np.bincount(pushed[0], matters[pushed] * followed, len(noisy)) / np.bincount(pushed[0])
        risks.append(far + noise.reach * slope - noise.variance)
    return risks


def _one_in_each_block(shape: tuple[int, ...], random: np.random.Generator) -> tuple[NDArray[np.int64], ...]:
    """Slices, rows and columns of cells, each anywhere in its block: to a network, places on its own grid are alike."""
    side = min(_BLOCK, *shape[1:])
    slices, rows, columns = np.indices((shape[0], *(-(-size // side) for size in shape[1:])))
    rows, columns = (side * block + random.integers(0, side, block.shape) for block in (rows, columns))
    inside = (rows < shape[1]) & (columns < shape[2])
    return slices[inside], rows[inside], columns[inside]
