"""Bounding: of each user at most k pings reach the counts, or all of them with weights that sum to at most k.

* `sample`, the paper's: k of a user's pings, uniformly at random. A ping's priority is a keyed hash of what
  identifies it, and the k lowest are kept. The key is drawn once for a run, so a task that is recomputed, retried or
  run twice chooses the same pings; with `rand()` it would choose anew, and a user could enter some slices by one
  choice and other slices by the next. Exact duplicates of a ping are separate pings: each gets a number among its
  equals, and that number enters the hash. From the 17th copy on they come last, after all other pings of the user.
* `weight`: every ping of a user with n > k pings counts k / n, in whole units of 1 / `WEIGHT_UNIT`, rounded down.
  Nothing is left to chance.

Both see a ping as a *word*: its cell in the low bits, and above it what they need to know (`collect.routing`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vdr_spark.collect.hashing import absorb, mix
from vdr_spark.collect.locate import Located
from vdr_spark.collect.sorting import Codes, Integers, Words, order_by, position_in_run, starts_of_runs
from vdr_spark.config.privacy import WEIGHT_UNIT, PrivacySettings

Counts = tuple[Integers, Integers | None]
"""Cells, and by how many units each of them grows; None: by one. A cell may stand there more than once."""

_HOT = 1 << 12  # pings of one user in one chunk, from which on they are made fewer before the shuffle
_COPIES = 16  # of one ping that are chosen among like any other; further ones come last
_LAST = np.uint64(2**64 - 1)
_MOST_PINGS = 2**42  # of one user: nobody has more


class Bounding(Protocol):
    """Must be picklable: tasks use it. `code` tells the users of `words` apart, 0 .. users - 1."""

    def words(self, pings: Located, user_hash: Words) -> Words:
        """What travels beside the user. (n,)"""
        ...

    def condensed(self, sizes: Integers, words: Words) -> tuple[Integers, Words]:
        """The same pings in fewer words, where a user has very many in a chunk: nobody may fill a task's memory.

        Words stand user by user, `sizes` says how many each user has, before and after.
        """
        ...

    def counted(self, users: int, code: Codes, words: Words) -> Counts:
        """What the users add to the cells, from all words of each of them, in any order."""
        ...


@dataclass(frozen=True)
class SampleKey:
    """The secret of one run's choice among pings. Held in memory only, gone when the run ends."""

    first: int
    second: int

    @classmethod
    def drawn(cls) -> SampleKey:
        return cls(secrets.randbits(64), secrets.randbits(64))

    @classmethod
    def seeded(cls, seed: int) -> SampleKey:
        first, second = np.random.PCG64([seed, 1 << 40]).random_raw(2).tolist()
        return cls(first, second)


def bounding_of(privacy: PrivacySettings, cells: int, key: SampleKey) -> Bounding:
    """The bounding that a configuration names, for cell numbers 0 .. cells - 1."""
    cell_bits = max(1, (cells - 1).bit_length())
    if privacy.bounding == "weight":
        return Weight(privacy.bound, cell_bits)
    return Sample(privacy.bound, cell_bits, key)


@dataclass(frozen=True)
class Sample:
    """Words hold a ping's priority above its cell."""

    k: int
    cell_bits: int
    key: SampleKey

    def words(self, pings: Located, user_hash: Words) -> Words:
        state = user_hash ^ np.uint64(self.key.second)
        for bits in pings.content:
            state = absorb(state, bits)
        shift = np.uint64(self.cell_bits)
        return (mix(state) >> shift << shift) | pings.cell.view(np.uint64)

    def condensed(self, sizes: Integers, words: Words) -> tuple[Integers, Words]:
        return _condense_hot(sizes, words, max(_HOT, 4 * _COPIES * self.k), self._may_be_kept)

    def _may_be_kept(self, words: Words) -> Words:
        """Some of a user's words without those that cannot be among the k lowest of all, whatever the others are.

        This must not change what is kept: chunks are cut by other people's pings too. The k-th lowest priority of a
        part is never below that of the whole, and copies that lie elsewhere can only move a ping's copies to higher
        numbers. So a ping may go if none of its first `_COPIES` copies would be low enough; the copies after them
        come last, and no more than k of them can matter.
        """
        lowest = 2 * _COPIES * self.k  # of them at least k have a low priority, unless nearly all are copies
        some = np.sort(np.partition(words, lowest)[:lowest])
        limit = np.sort(self._priority(some, _copy_numbers(some)))[self.k - 1]
        candidate, folded = words <= limit, _folded(words)
        for factor in self._factors[1:]:
            candidate |= folded * factor <= limit
        words = np.sort(words[candidate])
        fewer: Words = words[_copy_numbers(words) < max(self.k, _COPIES)]
        return fewer

    def counted(self, users: int, code: Codes, words: Words) -> Counts:
        sizes = np.bincount(code, minlength=users)
        heavy = sizes > self.k
        of_heavy = heavy[code]
        kept = [words[~of_heavy]]
        if heavy.any():
            kept.append(self._lowest(np.cumsum(heavy)[code[of_heavy]] - 1, words[of_heavy], sizes[heavy]))
        return (np.concatenate(kept) & np.uint64((1 << self.cell_bits) - 1)).view(np.int64), None

    def _lowest(self, code: Integers, words: Words, sizes: Integers) -> Words:
        """Of each user, all of whom have more than k, the k words of lowest priority."""
        high = (words >> np.uint64(32)).astype(np.uint32)
        order = order_by(code.astype(np.uint32), high)
        same_user, same_high = code[order][1:] == code[order][:-1], high[order][1:] == high[order][:-1]
        begins = np.cumsum(sizes) - sizes
        tied = np.unique(code[order[1:][same_user & same_high]])  # users with equal pings, of whom there are few
        plain = np.delete(begins, tied)
        kept = [words[order[(plain[:, None] + np.arange(self.k)).ravel()]]]
        for user in tied:
            kept.append(self._lowest_of_equals(words[order[begins[user] : begins[user] + sizes[user]]]))
        return np.concatenate(kept)

    def _lowest_of_equals(self, words: Words) -> Words:
        """The k words of lowest priority of one user, where some are equal."""
        words = np.sort(words)
        priority = self._priority(words, _copy_numbers(words))
        lowest: Words = words[np.lexsort((words, priority))[: self.k]]
        return lowest

    def _priority(self, words: Words, copy: Integers) -> Words:
        """Of a ping and its number among its equals. The first copy's is the word itself."""
        again = _folded(words) * self._factors[np.minimum(copy, _COPIES - 1)]
        return np.where(copy == 0, words, np.where(copy < _COPIES, again, _LAST))

    @property
    def _factors(self) -> Words:
        """Odd numbers that turn a word into the priorities of its second, third, ... copy. (copies,)"""
        return mix(np.uint64(self.key.second) + np.arange(_COPIES, dtype=np.uint64)) | np.uint64(1)


@dataclass(frozen=True)
class Weight:
    """Words hold how many pings they stand for above their cell."""

    k: int
    cell_bits: int

    def words(self, pings: Located, user_hash: Words) -> Words:  # noqa: ARG002  part of the protocol
        return pings.cell.view(np.uint64) | np.uint64(1 << self.cell_bits)

    def condensed(self, sizes: Integers, words: Words) -> tuple[Integers, Words]:
        return _condense_hot(sizes, words, 4 * _HOT, self._added_up)

    def _added_up(self, words: Words) -> Words:
        """One word for each cell, from words that stand for one ping each."""
        cells, pings = np.unique(words, return_counts=True)
        added: Words = cells + (pings.astype(np.uint64) - np.uint64(1)) * np.uint64(1 << self.cell_bits)
        return added

    def counted(self, users: int, code: Codes, words: Words) -> Counts:
        pings = (words >> np.uint64(self.cell_bits)).view(np.int64)
        cells = (words & np.uint64((1 << self.cell_bits) - 1)).view(np.int64)
        # Floating-point sums of whole numbers below 2**53: exact.
        sizes = np.bincount(code, weights=pings, minlength=users).astype(np.int64)
        k = min(self.k, _MOST_PINGS)  # so that the product fits
        weights = np.minimum(WEIGHT_UNIT, k * WEIGHT_UNIT // np.maximum(sizes, 1))
        return cells, pings * weights[code]


def _folded(words: Words) -> Words:
    """One to one, so that a product's upper bits depend on all bits of the word."""
    return words ^ (words >> np.uint64(32))


def _copy_numbers(words: Words) -> Integers:
    """Of each of some sorted words, how many equals stand before it."""
    return position_in_run(starts_of_runs(words))


def _condense_hot(
    sizes: Integers, words: Words, limit: int, fewer_of: Callable[[Words], Words]
) -> tuple[Integers, Words]:
    """The words of users with more than `limit` of them made fewer, each such user's alone; the others' as they are."""
    hot = np.flatnonzero(sizes > limit)
    if not len(hot):
        return sizes, words
    ends = np.cumsum(sizes)
    sizes = sizes.copy()
    parts, done = [], 0
    for user in hot:
        begin, end = int(ends[user] - sizes[user]), int(ends[user])
        fewer = fewer_of(words[begin:end])
        parts += [words[done:begin], fewer]
        sizes[user], done = len(fewer), end
    return sizes, np.concatenate([*parts, words[done:]])
