"""How wrong sums of an estimate are at several sizes, from noisy counts alone: what `SumErrors` is made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import convolve
from scipy.optimize import isotonic_regression

from vdr_spark.arrays import Floats
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.perturbation import block_risks
from vdr_spark.denoise.estimation.reconcile import Twins
from vdr_spark.denoise.statistics.subsets import evenly_spaced
from vdr_spark.privacy.mechanism import Noise
from vdr_spark.sum_errors import Spread, SumErrors

_SIDES = (1, 4, 16, 64)
_SPREADS = np.geomspace(1e-4, 100, 240)  # among which the right one is looked for
_MOST_SLICES = 16  # that sums within one slice are judged by
_FEWEST_BLOCKS = 16  # by which a size can be judged
_LARGEST_WEIGHT = 30.0  # deviations of its noise; a few huge blocks do not speak for all
_MOST = 0.97  # of the noise's variance, that the mean variance of blocks may be
_OVERLAP = 1.5  # by how much less overlapping blocks tell than as many apart: the root of 1 + 4 / 4 + 4 / 16
_CAUTION = 0.5  # deviations of what is not known about the risk, by which it is taken for larger
# Who asks where people are asks where there are more of them than estimated, the more so the smaller the place; and
# errors have heavier tails than a normal's. By so much the variance is larger than the risk of all blocks, by side.
_AT_PINGS = {1: 2.5, 4: 1.5, 16: 1.5, 64: 1.5}
_LEAST_RISK = 0.01  # that two estimates are told apart by


@dataclass(frozen=True)
class SumRisks:
    """The estimated errors of sums of one estimate."""

    errors: SumErrors
    risks: dict[Level, float]  # mean squared error where people are, relative to that of the noisy sums

    @property
    def overall(self) -> float:
        """The geometric mean over all sizes; 1: as bad as the noisy counts."""
        return float(np.exp(np.mean([np.log(max(risk, _LEAST_RISK)) for risk in self.risks.values()])))


def judge_sums(twins: Twins, noise: Noise) -> SumRisks:
    """Return how far sums of the first of two estimates are off, as the second one tells."""
    slices, side, _ = twins.first.noisy.shape
    spreads, risks = [], {}
    for number in sorted({1, slices}):
        levels = [_Judged.of(twins, Level(of, number), noise) for of in _SIDES if of <= side]
        for judged, (risk, unknown) in zip(levels, _rise_with_size(levels), strict=True):
            risks[judged.level] = risk
            variance = _AT_PINGS[judged.level.side] * risk + _CAUTION * unknown
            spreads.append(Spread(judged.level.side, number, judged.spread(variance)))
    return SumRisks(SumErrors(noise.deviation, tuple(spreads)), risks)


@dataclass(frozen=True)
class _Judged:
    """One size: how far its blocks stand out from their noise, how much they matter, and their mean risk."""

    level: Level
    stands_out: Floats  # estimated sums in deviations of their noise; (blocks,)
    weights: Floats  # of sum 1, or none
    risk: float
    uncertainty: float  # standard deviation of the risk

    @classmethod
    def of(cls, twins: Twins, level: Level, noise: Noise) -> _Judged:
        some = evenly_spaced(len(twins.first.noisy), _MOST_SLICES) if level.slices == 1 else slice(None)
        sums = twins.sums(level, some)
        deviation = np.sqrt(np.maximum(sums.cells * noise.variance, 1e-12))
        # By how busy the blocks around are: what is asked about is where people are, and a block's own count in its
        # weight would prefer blocks whose noise happens to be high.
        weights = np.minimum(_mean_around(sums.estimated, level) / deviation, _LARGEST_WEIGHT)
        stands_out = (np.maximum(sums.estimated, 0) / deviation).ravel()
        if weights.size < _FEWEST_BLOCKS or weights.sum() <= 0:  # as good as the noisy sums, as far as can be told
            return cls(level, stands_out, np.zeros(0), 1.0, 1.0)
        risks, share = block_risks(sums, noise, weights).ravel(), weights.ravel() / weights.sum()
        mean = float(share @ risks)
        overlap = 1.0 if level.side == 1 else _OVERLAP
        return cls(level, stands_out, share, mean, overlap * float(np.sqrt(share**2 @ (risks - mean) ** 2)))

    def spread(self, variance: float) -> float:
        """Return the spread by which the variances of all blocks have this mean, relative to their noise."""
        chosen = self.weights > 0
        if not chosen.any():
            return float(_SPREADS[-1])
        flat, share, wanted = self.stands_out[chosen], self.weights[chosen], min(variance, _MOST)
        below, above = 0, len(_SPREADS) - 1
        while below < above:  # it grows with the spread
            middle = (below + above) // 2
            ratio = _SPREADS[middle] * flat
            if float(share @ (ratio / (1 + ratio))) < wanted:
                below = middle + 1
            else:
                above = middle
        return float(_SPREADS[below])


def _rise_with_size(levels: list[_Judged]) -> list[tuple[float, float]]:
    """Return the risks of sizes, each at least that of the smaller ones, and what is not known about them.

    Errors that are alike add up faster than noise, so relative to it they grow with the size. What a size of few blocks
    cannot tell by itself, it learns from the next ones.
    """
    known = 1 / np.maximum([of.uncertainty for of in levels], 1e-6) ** 2
    rising = isotonic_regression([of.risk for of in levels], weights=known).x
    together = [known[rising == risk].sum() for risk in rising]
    return [(float(np.clip(risk, 0, 1)), float(of**-0.5)) for risk, of in zip(rising, together, strict=True)]


def _mean_around(blocks: Floats, level: Level) -> Floats:
    """Return the mean of the eight blocks around each that do not overlap it. (..., B, B)"""
    step = 1 if level.side == 1 else 2
    kernel = np.zeros((1, 2 * step + 1, 2 * step + 1))
    kernel[0, ::step, ::step] = 1 / 8
    kernel[0, step, step] = 0
    around: Floats = np.maximum(convolve(blocks, kernel, mode="nearest"), 0)
    return around
