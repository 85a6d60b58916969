"""How wrong sums of an estimate are at several sizes, from noisy counts alone: what `SumErrors` is made of."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import convolve

from vdr_spark.arrays import Floats
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.reconcile import Twins, block_risks
from vdr_spark.denoise.statistics.subsets import evenly_spaced
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.sum_errors import Spread, SumErrors

_SIDES = (1, 4, 16, 64)
_SPREADS = np.geomspace(1e-4, 100, 240)  # among which the right one is looked for
_MOST_SLICES = 16  # that sums within one slice are judged by
_FEWEST_BLOCKS = 16  # by which a size can be judged
_LARGEST_WEIGHT = 30.0  # deviations of its noise; a few huge blocks do not speak for all
_MOST = 0.97  # of the ceiling, that the mean variance of blocks may be
_HIGHEST_CEILING = 2.0  # of the noise's variance: a sum that is reconciled is about as good as the noisy one
_LIKE_THE_NOISE = float(_SPREADS[-1]), 1.0


def judge_sums(twins: Twins, noise: Noise) -> SumErrors:
    """Return how far sums of the first of two estimates are off, as the second one tells."""
    slices, side, _ = twins.first.noisy.shape
    spreads = [
        Spread(of, number, *_judge(twins, Level(of, number), noise))
        for number in sorted({1, slices})
        for of in _SIDES
        if of <= side
    ]
    return SumErrors(noise.deviation, tuple(spreads))


def _judge(twins: Twins, level: Level, noise: Noise) -> tuple[float, float]:
    """Return spread and ceiling at one level; where blocks are too few to tell, those of the noise itself."""
    some = evenly_spaced(len(twins.first.noisy), _MOST_SLICES) if level.slices == 1 else slice(None)
    noisy, estimated = (level.sums(tensor[some]) for tensor in (twins.first.noisy, twins.first.counts))
    noisier, again = (level.sums(tensor[some]) for tensor in (twins.second.noisy, twins.second.counts))
    cells = level.sums(np.ones_like(twins.first.noisy[some]))
    if cells.size < _FEWEST_BLOCKS:
        return _LIKE_THE_NOISE
    deviation = np.sqrt(np.maximum(cells * noise.variance, 1e-12))
    # By how busy the blocks around are: what is asked about is where people are, and a block's own count in its weight
    # would prefer blocks whose noise happens to be high.
    weights = np.minimum(_mean_around(estimated) / deviation, _LARGEST_WEIGHT)
    if weights.sum() <= 0:
        return _LIKE_THE_NOISE
    risks = block_risks(noisy, estimated, noisier, again, cells, noise, weights)
    mean = float((weights * risks).sum() / weights.sum())
    uncertain = float(np.sqrt((weights**2 * (risks - mean) ** 2).sum()) / weights.sum())
    risk = max(mean + uncertain, 0.0)  # rather too wide than too narrow
    ceiling = min(max(risk, 1.0), _HIGHEST_CEILING)
    return _solve(np.maximum(estimated, 0) / deviation, weights, min(risk / ceiling, _MOST)), ceiling


def _mean_around(blocks: Floats) -> Floats:
    """Return the mean of the eight blocks around each. (..., B, B)"""
    kernel = np.full((1, 3, 3), 1 / 8)
    kernel[0, 1, 1] = 0
    around: Floats = np.maximum(convolve(blocks, kernel, mode="nearest"), 0)
    return around


def _solve(stands_out: Floats, weights: Floats, risk: float) -> float:
    """Return the spread by which the variances of all blocks have this mean, relative to their noise."""
    flat, share = stands_out.ravel(), weights.ravel() / weights.sum()
    chosen = share > 0
    flat, share = flat[chosen], share[chosen]
    below, above = 0, len(_SPREADS) - 1
    while below < above:  # it grows with the spread
        middle = (below + above) // 2
        ratio = _SPREADS[middle] * flat
        if float(share @ (ratio / (1 + ratio))) < risk:
            below = middle + 1
        else:
            above = middle
    return float(_SPREADS[below])
