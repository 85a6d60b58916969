"""How many of a table's thresholds a random word has reached: the look-up behind every exact sampler.

A binary search over thousands of thresholds costs a dozen branches that no processor can predict. Here the first bits
of a word choose a stretch of all words, and a guide says how many thresholds lie before that stretch (Chen and Asau
1974). Mostly the stretch holds one threshold or none, and one comparison gives the answer; the few words that have
passed another one are searched for as before. What is found is what the search finds, for every word.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from vdr_spark.arrays import Integers

WORD_BITS = 63  # of a 64-bit word; the last bit is left to the caller, who needs a sign
_FEWEST_BITS, _MOST_BITS = 8, 16  # of a word that choose the stretch: 2 KiB to 512 KiB of guide
_STRETCHES = 4  # for each threshold
_BELOW_ALL, _ABOVE_ALL = -(1 << 32), 2**WORD_BITS - 1


@dataclass(frozen=True)
class ThresholdTable:
    """Thresholds for words of 63 bits, in ascending order."""

    ascending: Integers
    _padded: Integers = field(init=False, repr=False, compare=False)
    _guide: Integers = field(init=False, repr=False, compare=False)
    _shift: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        bits = min(max((_STRETCHES * len(self.ascending)).bit_length(), _FEWEST_BITS), _MOST_BITS)
        starts = np.arange(1 << bits, dtype=np.int64) << (WORD_BITS - bits)
        # Two at the end: the one word that equals the first of them passes it, and has to be stopped by another.
        padded = np.concatenate([[_BELOW_ALL], self.ascending, [_ABOVE_ALL, _ABOVE_ALL]]).astype(np.int64)
        object.__setattr__(self, "_padded", padded)
        object.__setattr__(self, "_guide", np.searchsorted(self.ascending, starts, side="left"))
        object.__setattr__(self, "_shift", WORD_BITS - bits)

    def count_reached(self, words: Integers) -> Integers:
        """Return for each word how many thresholds are not above it. (n,) -> (n,)"""
        following = self._padded[1:]
        reached: Integers = self._guide.take(words >> self._shift)
        reached += following.take(reached) <= words
        behind = np.flatnonzero(following.take(reached) <= words)
        if behind.size:
            reached[behind] = np.searchsorted(self.ascending, words[behind], side="right")
        return reached

    def find_close(self, words: Integers, reached: Integers, width: int) -> Integers:
        """Return the positions of the words that lie less than `width` above the last threshold they have reached."""
        return np.flatnonzero(self._padded.take(reached) > words - width)
