"""From blocks of integers to integers: the exact rejection that makes one small table serve every large sigma.

The integers from zero up are cut into blocks of B = 2**shift. A block, number c, is sampled in proportion to
exp(-(c B)**2 / (2 sigma**2)), the weight of its first integer, and f < B is sampled uniformly within it. The integer
c B + f is then kept with probability exp(-t),

    t  =  ((c B + f)**2 - (c B)**2) / (2 sigma**2)  =  f (2 c B + f) / (2 sigma**2)  >=  0,

so that what is kept is distributed in proportion to exp(-(c B + f)**2 / (2 sigma**2)). With sigma / B above 256, all
but one in 600 are kept.

Why the decision is exact. Let W be uniform on [0, 1); the integer is thrown away if W < 1 - exp(-t). Of W first 32
bits w are sampled. In integers, rounded outwards, T >= 2**32 t and L <= 2**32 (t - t**2 / 2) are computed, and

    t - t**2 / 2  <=  1 - exp(-t)  <=  t,

so that w >= T surely keeps and w < L surely throws away. In between, which happens to one in 400,000, exp(-t) is
enclosed as closely as it takes, with further bits of W, until W lies on one side: no probability is ever rounded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from vdr_spark.arrays import Integers, Mask
from vdr_spark.privacy.exact_digits import GUARD_BITS, exp_enclosure
from vdr_spark.privacy.randomness import RandomWords

LARGEST_SIGMA = 512  # of numbers of blocks; the table of half a Gaussian then has 4,700 entries
_BITS = 32  # of W, to begin with
_FINE_BITS = 16  # of f that T and L look at
_FAR = 1 << 13  # a block from which on T and L would not fit 64 bits: decided without them


@dataclass(frozen=True)
class Thinning:
    """What keeps integers c * 2**shift + f with probability exp(-t)."""

    sigma_squared: Fraction
    shift: int

    @classmethod
    def of(cls, sigma_squared: Fraction) -> Thinning:
        """Return the one with the smallest blocks whose numbers have a sigma of 512 at most."""
        shift = 0
        while sigma_squared > LARGEST_SIGMA**2 << 2 * shift:
            shift += 1
        return cls(sigma_squared, shift)

    def sample_within(self, size: int, random_words: RandomWords) -> Integers:
        """Return uniform places f within blocks. (size,)"""
        return (random_words(size) >> np.uint64(64 - self.shift)).view(np.int64)

    def keeps(self, blocks: Integers, within: Integers, random_words: RandomWords) -> Mask:
        """Return which integers are kept. (n,), (n,) -> (n,)"""
        first = random_words(-(-len(blocks) // 2)).view(np.uint32)[: len(blocks)].astype(np.int64)
        fine = within >> max(0, self.shift - _FINE_BITS)
        kept = first >= self._above(blocks, fine)
        kept &= blocks < _FAR
        doubtful = np.flatnonzero(~kept)
        thrown = first[doubtful] < self._below(blocks[doubtful], fine[doubtful])
        open_ones = doubtful[~(thrown & (blocks[doubtful] < _FAR))]
        for position in open_ones:
            block, place, w = (int(of[position]) for of in (blocks, within, first))
            kept[position] = self._decide(block, place, w, random_words)
        return kept

    @property
    def _fine_bits(self) -> int:
        return min(self.shift, _FINE_BITS)

    @property
    def _rate(self) -> Fraction:
        """2**32 B**2 / (2 sigma**2), so that 2**32 t = rate * f / B * (2 c + f / B); 2**13 to 2**15."""
        return Fraction(1 << _BITS + 2 * self.shift) / (2 * self.sigma_squared)

    def _above(self, blocks: Integers, fine: Integers) -> Integers:
        """Return T, an integer not below 2**32 t. Where f has more bits than `fine`, it is less than `fine` + 1."""
        most = fine + int(self.shift > _FINE_BITS)
        return (self._product(blocks, most) * math.ceil(self._rate) >> 2 * self._fine_bits) + 1

    def _below(self, blocks: Integers, fine: Integers) -> Integers:
        """Return L, an integer not above 2**32 (t - t**2 / 2): f / B is at least fine / 2**_fine_bits."""
        least = self._product(blocks, fine) * math.floor(self._rate) >> 2 * self._fine_bits
        return least - (least * least >> _BITS + 1) - 1

    def _product(self, blocks: Integers, fine: Integers) -> Integers:
        """Return fine * (2 c + fine), both in units of 2**-_fine_bits: below 2**47 for blocks that are not far."""
        product: Integers = fine * ((blocks << self._fine_bits + 1) + fine)
        return product

    def _decide(self, block: int, within: int, w: int, more: RandomWords) -> bool:
        """Return whether W = 0.w... lies above 1 - exp(-t), sampling bits of W until it is clear."""
        t = within * ((block << self.shift + 1) + within) / (2 * self.sigma_squared)
        bits = _BITS
        while True:
            low, high = exp_enclosure(t, bits + GUARD_BITS)
            one = 1 << bits + GUARD_BITS
            if w >= -((low - one) >> GUARD_BITS):
                return True
            if w < (one - high) >> GUARD_BITS:
                return False
            bits, w = bits + 64, (w << 64) | int(more(1)[0])
