"""Further noise in a few cells: how far sums of an estimate follow their own noise, at every size.

With y = x + n the noisy counts, X_B the true sum of a block B, Y_B its noisy sum of variance q^2, n_B its noise and E_B
any estimate of it,

    E (E_B - X_B)^2  =  E (Y_B - E_B)^2  -  q^2  +  2 E n_B E_B,

so the squared error is known without the truth, but for the last term: what the estimate pays for following its noise.
That can be had too. The mechanism gives perturbations m and a weight w with which, for a cell i and a sign s by chance,

    E n_i g(y)  =  w / 2 * E [g(y + m e_i) - g(y - m e_i)]  =  w E s [g(y + s m e_i) - g(y)]

whatever the function g (`Mechanism.perturbation_weight`). So a few cells, a `SHARE` of all, are perturbed, and
everything is estimated a second time; with S_B the sum of the signs in the block and E_B' its second estimate,

    E n_B E_B  =  w / SHARE * E [S_B (E_B' - E_B)],

up to what perturbed cells do to each other, which has the sign of neither and cancels. The perturbed counts hold
SHARE times the perturbations' variance more noise, and the second estimate is told so: a denoiser that took it for
people would follow it too far. Perturbations of another shape, such as Gaussian ones in all cells where the noise is
Laplace noise, give another answer: estimates that know the mechanism follow a little noise further than the rare large
one.

Everything here is post-processing. The samples are seeded: what is judged twice is judged alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Slices
from vdr_spark.privacy.mechanism import Noise

SHARE = 0.09  # of the cells that are perturbed: enough to be seen, few enough to leave the estimate what it is


@dataclass(frozen=True)
class Perturbed:
    """Noisy counts (T, M, M) of which some were perturbed, the signs of what was added, and what noise they hold."""

    noisy: Slices
    signs: NDArray[np.int8]  # 0 where nothing was added
    noise: Noise


def perturb(noisy: Slices, noise: Noise, seed: int = 0) -> Perturbed:
    """Perturb a few cells of a noisy tensor (T, M, M), slice by slice; chosen by a seed, for judging only."""
    random = np.random.default_rng(seed)
    counts, signs = noisy.copy(), np.zeros(noisy.shape, np.int8)
    for layer, sign in zip(counts, signs, strict=True):
        chosen = random.random(layer.shape) < SHARE
        number = int(chosen.sum())
        sign[chosen] = random.choice(np.array([-1, 1], np.int8), number)
        layer[chosen] += sign[chosen] * noise.perturbations((number,), random)
    added = SHARE * noise.perturbation_variance / noise.variance if noise.variance > 0 else 0.0
    return Perturbed(counts, signs, noise.widened(added))


@dataclass(frozen=True)
class BlockSums:
    """What is known about the blocks of one size: all of one shape."""

    noisy: Floats
    estimated: Floats
    estimated_again: Floats  # from the perturbed counts
    signs: Floats
    cells: Floats


def block_risks(sums: BlockSums, noise: Noise, weights: Floats | None = None) -> Floats:
    """Return an estimate of every block's squared error, relative to the variance of its noise; right in the mean.

    Blocks that count by `weights`, which may not know the block's own noise, are averaged by them later on: where sums
    follow perturbations in proportion, the chance of how many there were cancels.
    """
    variance = np.maximum(sums.cells * noise.variance, 1e-12)
    perturbed = float(np.average(sums.signs**2 / np.maximum(sums.cells, 1), weights=weights))
    if perturbed <= 0:  # so few cells that none was: nothing is known of how far they follow
        followed = np.full_like(variance, 0.5) * variance
    else:
        followed = noise.perturbation_weight / perturbed * sums.signs * (sums.estimated_again - sums.estimated)
    risks: Floats = ((sums.noisy - sums.estimated) ** 2 + 2 * followed) / variance - 1
    return risks
