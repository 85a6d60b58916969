"""Reconciliation: estimated sums over districts and slices are brought towards the noisy sums, which know them better.

Each cell is estimated from what is around it in space and time. Small errors that are alike in many cells add up, and
over a district the plain noisy sum, whose noise has averaged out, is soon the better answer. So at several levels every
block's estimated sum E moves towards its noisy sum Y,

    E  ->  E + w (Y - E),    w = u / (1 + u),    u = max(a E / q, (b E / q)^2),

q the deviation of the noise in Y: the more a block stands out from its noise, the more its noisy sum counts. b says
that no prediction of a large sum is trusted to be better than a few percent; a is chosen for each level by the
estimated risk of its sums, from the noisy tensor alone (`denoise.estimation.perturbation`).

Cells take part in a correction as far as they rest on the prior: a cell that follows its own count is right already.
Cells in empty country take no part, neither in the sums nor in the correction: their noise would only be moved into the
towns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Mask, Slices
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.perturbation import BlockSums, block_risks
from vdr_spark.privacy.mechanism import Noise

_DISTRUST = 0.05  # b: relative error below which no predicted sum of a slice is believed to be
_DISTRUST_OF_PERIODS = 0.12  # the same for sums over all slices, of which each was predicted by the others
_STRENGTHS = (0.0, 0.003, 0.01, 0.02, 0.04, 0.08, 0.15, 0.3, 0.6, 1.2, 2.5, 5.0)  # of a
_CAUTION = 0.5  # standard errors
_SIDES = (16, 64)  # cells
_MOST_DOWN, _MOST_UP = -0.8, 4.0  # of what a cell rests on the prior, in one correction
_LEAST_SHARE = 0.1  # of a count that is left to it: counts stay above zero


@dataclass(frozen=True)
class Denoised:
    """An estimate of the kept counts, and the noisy counts it was made of. (T, M, M) each"""

    noisy: Slices
    counts: Slices
    rests: Slices  # how many pings of the estimate rest on the prior and not on the cell's own count
    populated: Mask  # whether the country is other than empty


@dataclass(frozen=True)
class Twins:
    """The estimate, and another one from counts some of which were perturbed: what differs follows the noise."""

    first: Denoised
    second: Denoised
    signs: NDArray[np.int8]  # of the perturbations; (T, M, M)

    def sums(self, level: Level, slices: slice | list[int] = slice(None)) -> BlockSums:
        """Return what is known about the blocks of one size, overlapping ones, in some of the slices."""
        tensors = (self.first.noisy, self.first.counts, self.second.counts, self.signs)
        noisy, first, second, signs = (level.overlapping_sums(tensor[slices]) for tensor in tensors)
        return BlockSums(noisy, first, second, signs, level.overlapping_sums(np.ones_like(self.signs[slices])))


def resting_on_prior(prior: Slices, deviation: Slices, noise: Noise) -> Slices:
    """Return how much of each posterior mean rests on the prior: a gain of v / V follows the noisy count. (T, M, M)"""
    gain = np.minimum(deviation**2 / np.float32(max(noise.variance, 1e-12)), 1)
    rests: Slices = prior * (1 - gain)
    return rests


def reconcile(twins: Twins, noise: Noise) -> Twins:
    """Return both estimates with their sums reconciled: of slices first, of places over all slices last."""
    for level in _levels(twins.first.noisy.shape):
        sums = [_Sums.of(of, level, noise) for of in (twins.first, twins.second)]
        signs = level.sums(twins.signs)
        risks = np.stack([_risks(sums, signs, strength, noise) for strength in _STRENGTHS])
        strength = _STRENGTHS[_choose(risks)]
        first, second = (
            _correct(of, level, its.correction(strength))
            for of, its in zip((twins.first, twins.second), sums, strict=True)
        )
        twins = replace(twins, first=first, second=second)
    return twins


def _levels(shape: tuple[int, ...]) -> list[Level]:
    slices, side, _ = shape
    sides = [of for of in _SIDES if 2 * of <= side]
    in_slices = [*(Level(of, 1) for of in sides[-1:]), Level(side, 1)]
    return [*in_slices, *(Level(of, slices) for of in sides if slices > 1)]


@dataclass(frozen=True)
class _Sums:
    """What a level's blocks hold, in populated cells and in all."""

    noisy: Floats
    estimated: Floats
    noise: Floats  # deviation
    rests: Floats
    noisy_all: Floats
    estimated_all: Floats
    cells_all: Floats
    distrust: float

    @classmethod
    def of(cls, denoised: Denoised, level: Level, noise: Noise) -> _Sums:
        populated = denoised.populated
        return cls(
            level.sums(denoised.noisy * populated),
            level.sums(denoised.counts * populated),
            np.sqrt(noise.variance * level.sums(populated.astype(np.float32))) + 1e-9,
            level.sums(denoised.rests * populated),
            level.sums(denoised.noisy),
            level.sums(denoised.counts),
            level.sums(np.ones_like(denoised.noisy)),
            _DISTRUST if level.slices == 1 else _DISTRUST_OF_PERIODS,
        )

    def correction(self, strength: float) -> Floats:
        """Return by how much of what they rest on the prior the cells of each block change."""
        stands_out = np.maximum(self.estimated, 0) / self.noise
        towards = np.maximum(strength * stands_out, (self.distrust * stands_out) ** 2)
        missing = towards / (1 + towards) * (self.noisy - self.estimated)
        change: Floats = np.clip(missing / np.maximum(self.rests, 1e-9), _MOST_DOWN, _MOST_UP)
        return change

    def corrected(self, strength: float) -> Floats:
        """Return the sums over all cells of each block after the correction."""
        return self.estimated_all + self.correction(strength) * self.rests


def _choose(risks: Floats) -> int:
    """Return the number of the strength of least risk, of which the first is none. (strengths, blocks)

    What a correction is worth is known by as few numbers as there are blocks: it must pay beyond its own chance.
    """
    gains = risks - risks[0]
    uncertain = gains.std(axis=1) / np.sqrt(gains.shape[1])
    return int(np.argmin(gains.mean(axis=1) + _CAUTION * uncertain))


def _risks(sums: list[_Sums], signs: Floats, strength: float, noise: Noise) -> Floats:
    """Return the estimated squared errors of a level's sums, relative to their noise, after a correction. (blocks,)"""
    first, second = sums
    of = BlockSums(first.noisy_all, first.corrected(strength), second.corrected(strength), signs, first.cells_all)
    return block_risks(of, noise).ravel()


def _correct(denoised: Denoised, level: Level, change: Floats) -> Denoised:
    counts, rests, shape = denoised.counts, denoised.rests, denoised.counts.shape
    corrected, resting = np.empty_like(counts), np.empty_like(rests)
    for t in range(len(counts)):
        factor = level.spread(change, shape, t) * denoised.populated[t]
        corrected[t] = np.maximum(counts[t] + factor * rests[t], _LEAST_SHARE * counts[t])
        resting[t] = rests[t] * np.maximum(1 + factor, _LEAST_SHARE)
    return replace(denoised, counts=corrected, rests=resting)
