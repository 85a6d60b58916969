"""Where random words come from: the operating system, or, in tests only, a seed."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Integers, Mask

RandomWords = Callable[[int], NDArray[np.uint64]]
"""`random_words(n)` gives n independent uniform 64-bit words."""


def secure_words(n: int) -> NDArray[np.uint64]:
    """Return n words of the operating system's secure generator: no state of ours, nothing to fork or to replay."""
    return np.frombuffer(os.urandom(8 * n), dtype=np.uint64)


def seeded_words(seed: int, stream: int) -> RandomWords:
    """Return a source of words that anyone with the seed can compute. A tensor with such noise protects nobody."""
    generator = np.random.PCG64([seed, stream])
    return lambda n: np.asarray(generator.random_raw(n), dtype=np.uint64)


def split_signs(words: NDArray[np.uint64]) -> tuple[Mask, Integers]:
    """Return a sign, true for minus, and a word of 63 bits, independent of it, out of each word. (n,) -> (n,), (n,)"""
    return (words & np.uint64(1)).astype(np.bool_), (words >> np.uint64(1)).view(np.int64)


def with_signs(negative: Mask, magnitudes: Integers) -> Integers:
    """Return the magnitudes, with a minus where there is to be one; without branches, which signs would mislead."""
    minus = negative.astype(np.int64)
    return (magnitudes ^ -minus) + minus
