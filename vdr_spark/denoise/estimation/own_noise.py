"""How much of a cell's own noise comes back in its prediction, where a model looks at the cell's own count.

Fusion takes the means of bins of predictions from the noisy counts. Of a blind model the noise in a bin has mean zero.
A model that looks at the cell lifts the predictions of cells whose noise is high: the bins above hold their noise, and
in empty country it would become people. With 1_b(y) = 1 where a cell is predicted to lie in bin b, the noise in the bin
is the sum of E n_i 1_b(y) over its cells i, and the mechanism tells that by perturbed counts, exactly in the mean for a
model that is held fixed, up to what perturbed cells do to each other (`perturbation.py` has the argument): the sum over
perturbed cells of w / SHARE * s * [1_b(y + s m e_i) - 1_b(y)].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Floats, Image, Integers, Slices
from vdr_spark.denoise.estimation.perturbation import SHARE, perturb
from vdr_spark.privacy.mechanism import Noise

_ENOUGH = 4_000_000  # cells: of fewer the answer is left to chance, and more than one is asked for
_MOST = 8


@dataclass(frozen=True)
class OwnNoise:
    """What a model predicts of counts of which some were perturbed, once or several times over."""

    answers: list[tuple[Slices, NDArray[np.int8]]]  # predictions (T, M, M), signs of the perturbations or 0 (T, M, M)
    weight: float  # of a perturbed cell, in pings

    @classmethod
    def of(cls, reconstruct: Callable[[Slices], Slices], noisy: Slices, noise: Noise) -> OwnNoise:
        """Ask a model for its prediction of perturbed counts."""
        times = min(_MOST, -(-_ENOUGH // noisy.size))
        # The first seed has the cells by which sums are judged.
        perturbed = (perturb(noisy, noise, seed) for seed in range(1, 1 + times))
        answers = [(reconstruct(of.noisy), of.signs) for of in perturbed]
        return cls(answers, noise.perturbation_weight / SHARE / times)

    def in_bins(self, t: int, bins_of: Callable[[Image], Integers], predicted: Image, number: int) -> Floats:
        """Return the sum of the cells' own noise in each of so many bins, of slice t and its prediction. (bins,)"""
        before, followed = bins_of(predicted).ravel(), np.zeros(number)
        for again, signs in self.answers:
            sign = signs[t].ravel()
            followed += np.bincount(bins_of(again[t]).ravel(), sign, number) - np.bincount(before, sign, number)
        return self.weight * followed
