"""How wrong an estimate is, from noisy counts alone.

The noise n is independent from cell to cell and its distribution is known, so no truth is needed. With y = x + n the
noisy count and g(y) the estimate of x,

    E (g - x)^2  =  E (y - g)^2  +  2 E n g(y)  -  V,        V the variance of n.

The middle term can be had from y too: the mechanism gives perturbations m and a weight w with

    2 E n g(y)  =  w E [g(y + m) - g(y - m)]

(`DiscreteLaplace.perturbation_weight` and `privacy.gaussian_steps` have the arguments). So we push some cells up and
down by samples of m, and look how far the estimate follows: an estimate that follows its own noise pays for it. Nothing
has to be smooth, which a codebook is not. The expectation is exact for one cell perturbed alone (under Gaussian noise,
as nearly as `gaussian_steps` says); many are perturbed at once, few and far between, each in a direction of its own, so
that what they do to each other cancels.

Everything here is post-processing. The samples are seeded: two estimates are compared under the same perturbations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.privacy.mechanism import Noise

Estimate = Callable[[Slices], Slices]
"""What makes an estimate of the counts out of noisy counts. (T, M, M) -> (T, M, M)"""

_BLOCK = 8  # cells along each side of a block in which one is perturbed


def estimate_risk(
    noisy: Slices, estimate: Estimate, noise: Noise, seed: int = 0, weights: Slices | None = None
) -> float:
    """Return the mean squared error per cell, in pings squared, of an estimate of a noisy tensor (T, M, M).

    `weights` (M, M) or (T, M, M), of mean 1, say how much each cell matters; a cell's own noise may not be in its
    weight. May come out below zero: it is an estimate, and differences between methods are more reliable than its
    level.
    """
    return float(estimate_risks(noisy, estimate, noise, [weights], seed)[0].mean())


def estimate_risks(
    noisy: Slices,
    estimate: Estimate,
    noise: Noise,
    weightings: Sequence[Slices | None],
    seed: int = 0,
    cell_by_cell: bool = False,
) -> list[Floats]:
    """Return the same for each slice, under several weightings of the cells; None: all matter alike. (T,) each

    `cell_by_cell`: the estimate of a cell looks at no noisy count but the cell's own, so all are perturbed at once.
    """
    random = np.random.default_rng(seed)
    chosen = np.nonzero(np.ones_like(noisy, np.bool_)) if cell_by_cell else _one_in_each_block(noisy.shape, random)
    perturbation = np.zeros_like(noisy)
    # Up first or down first, by chance: else what cells do to those around them would add up.
    sign = random.choice(np.array([-1, 1], np.float32), chosen[0].shape)
    perturbation[chosen] = sign * noise.perturbations(chosen[0].shape, random)
    residual = np.square(noisy - estimate(noisy))
    followed = sign * (estimate(noisy + perturbation)[chosen] - estimate(noisy - perturbation)[chosen])
    risks = []
    for weights in weightings:
        matters = np.broadcast_to(np.float32(1) if weights is None else weights, noisy.shape)
        far = np.mean(matters * residual, axis=(1, 2), dtype=np.float64)
        slope = np.bincount(chosen[0], matters[chosen] * followed, len(noisy)) / np.bincount(chosen[0])
        risks.append(far + noise.perturbation_weight * slope - noise.variance)
    return risks


def _one_in_each_block(shape: tuple[int, ...], random: np.random.Generator) -> tuple[Integers, ...]:
    """Return slices, rows and columns of cells, anywhere in their blocks: a network treats places on its grid alike."""
    side = min(_BLOCK, *shape[1:])
    slices, rows, columns = np.indices((shape[0], *(-(-size // side) for size in shape[1:])))
    rows, columns = (side * block + random.integers(0, side, block.shape) for block in (rows, columns))
    inside = (rows < shape[1]) & (columns < shape[2])
    return slices[inside], rows[inside], columns[inside]
