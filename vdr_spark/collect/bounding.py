"""Bounding: of each user at most k pings reach the counts, or all of them with weights that bound their sum or norm.

* `sample`, the paper's: k of a user's pings, uniformly at random. A ping's priority is a keyed hash of what
  identifies it, and the k lowest are kept. The key is generated once for a run, so a task that is recomputed, retried
  or run twice chooses the same pings; with `rand()` it would choose anew, and a user could enter some slices by one
  choice and other slices by the next. Exact duplicates of a ping are separate pings: each gets a number among its
  equals, and that number enters the hash. From the 17th copy on they come last, after all other pings of the user.
* `weight`: every ping of a user with n > k pings counts k / n, in whole units of 1 / `WEIGHT_UNIT`, rounded down.
  Nothing is left to chance.
* `l2`: every ping of a user counts alike too, so that the user's counts over all cells have an L2 norm of at most
  `norm` (`collect.norms`). Who spreads n pings over n cells has a norm of sqrt(n) and counts for far more than by sums.

All pack a ping into 64 bits: its cell in the low ones, and above it what they need to know. So it travels through
the shuffle (`collect.buckets`).
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vdr_spark.arrays import Integers
from vdr_spark.collect.hashing import absorb, mix
from vdr_spark.collect.locate import Located
from vdr_spark.collect.norms import find_weights, merge_pairs
from vdr_spark.collect.sorting import Codes, Hashes, PackedPings, count_within_runs, mark_run_starts, order_by
from vdr_spark.units import WEIGHT_UNIT

Counts = tuple[Integers, Integers | None]
"""Cells, and by how many units each of them grows; None: by one. A cell may stand there more than once."""

_PRUNE_ABOVE = 1 << 12  # pings of one user in one chunk
_COPIES = 16  # of one ping that are chosen among like any other; further ones come last
_LAST = np.uint64(2**64 - 1)
_MAX_PINGS_PER_USER = 2**42  # nobody has more


class Bounding(Protocol):
    """Bounds what each user adds to the counts. It must be picklable, because tasks use it."""

    def pack(self, pings: Located, user_hash: Hashes) -> PackedPings:
        """Pack each ping into the 64 bits that travel beside its user. (n,)"""
        ...

    def prune(self, sizes: Integers, packed: PackedPings) -> tuple[Integers, PackedPings]:
        """Drop what cannot matter of users with very many pings in a chunk: nobody may fill a task's memory.

        Pings stand user by user; `sizes` says how many each user has, before and after. `count_cells` gives the same
        for what is left.
        """
        ...

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        """Return what the users add to the cells, from all pings of each of them, in any order.

        `code` tells the users of `packed` apart, 0 .. users - 1.
        """
        ...


@dataclass(frozen=True)
class SampleKey:
    """The secret of one run's choice among pings. It is held in memory only, and gone when the run ends."""

    first: int
    second: int

    @classmethod
    def generate(cls) -> SampleKey:
        return cls(secrets.randbits(64), secrets.randbits(64))

    @classmethod
    def seeded(cls, seed: int) -> SampleKey:
        first, second = np.random.PCG64([seed, 1 << 40]).random_raw(2).tolist()
        return cls(first, second)


def build_bounding(name: str, bound: int, cells: int, key: SampleKey) -> Bounding:
    """Build the bounding of a name for cell numbers 0 .. cells - 1. The bound is k, or the norm of `l2`, in pings."""
    cell_bits = max(1, (cells - 1).bit_length())
    if name == "weight":
        return Weight(bound, cell_bits)
    if name == "l2":
        return Norm(bound, cell_bits)
    if name == "sample":
        return Sample(bound, cell_bits, key)
    raise ValueError(f"bounding must be `sample`, `weight` or `l2`, not {name!r}")


@dataclass(frozen=True)
class Sample:
    """Keeps k pings of each user. A packed ping holds its priority above its cell."""

    k: int
    cell_bits: int
    key: SampleKey

    def pack(self, pings: Located, user_hash: Hashes) -> PackedPings:
        state = user_hash ^ np.uint64(self.key.second)
        for bits in pings.content:
            state = absorb(state, bits)
        shift = np.uint64(self.cell_bits)
        return (mix(state) >> shift << shift) | pings.cell.view(np.uint64)

    def prune(self, sizes: Integers, packed: PackedPings) -> tuple[Integers, PackedPings]:
        return _prune_users(sizes, packed, max(_PRUNE_ABOVE, 4 * _COPIES * self.k), self._drop_hopeless)

    def _drop_hopeless(self, packed: PackedPings) -> PackedPings:
        """Drop those of a user's pings that cannot be among the k lowest of all, whatever the others are.

        This must not change what is kept: chunks are cut by other people's pings too. The k-th lowest priority of a
        part is never below that of the whole, and copies that lie elsewhere can only move a ping's copies to higher
        numbers. So a ping may go if none of its first `_COPIES` copies would be low enough; the copies after them
        come last, and no more than k of them can matter.
        """
        lowest = 2 * _COPIES * self.k  # of them at least k have a low priority, unless nearly all are copies
        some = np.sort(np.partition(packed, lowest)[:lowest])
        limit = np.sort(self._priority(some, _number_copies(some)))[self.k - 1]
        candidate, folded = packed <= limit, _fold(packed)
        for factor in self._factors[1:]:
            candidate |= folded * factor <= limit
        packed = np.sort(packed[candidate])
        fewer: PackedPings = packed[_number_copies(packed) < max(self.k, _COPIES)]
        return fewer

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        sizes = np.bincount(code, minlength=users)
        heavy = sizes > self.k
        of_heavy = heavy[code]
        kept = [packed[~of_heavy]]
        if heavy.any():
            rank = (np.cumsum(heavy) - 1).astype(np.uint32)  # of a heavy user among them
            kept.append(self._keep_lowest(rank[code[of_heavy]], packed[of_heavy], sizes[heavy]))
        return (np.concatenate(kept) & np.uint64((1 << self.cell_bits) - 1)).view(np.int64), None

    def _keep_lowest(self, code: NDArray[np.uint32], packed: PackedPings, sizes: Integers) -> PackedPings:
        """Keep the k pings of lowest priority of each user, all of whom have more than k."""
        high = (packed >> np.uint64(32)).astype(np.uint32)
        order = order_by(code, high)
        begins = np.cumsum(sizes) - sizes
        ordered = high[order]
        same_high = np.flatnonzero(ordered[1:] == ordered[:-1])
        first, second = code[order[same_high]], code[order[same_high + 1]]
        tied = np.unique(first[first == second])  # users with equal pings, of whom there are few
        plain = np.delete(begins, tied)
        kept = [packed[order[(plain[:, None] + np.arange(self.k)).ravel()]]]
        for user in tied:
            kept.append(self._keep_lowest_of_equals(packed[order[begins[user] : begins[user] + sizes[user]]]))
        return np.concatenate(kept)

    def _keep_lowest_of_equals(self, packed: PackedPings) -> PackedPings:
        """Keep the k pings of lowest priority of one user, where some are equal."""
        packed = np.sort(packed)
        priority = self._priority(packed, _number_copies(packed))
        lowest: PackedPings = packed[np.lexsort((packed, priority))[: self.k]]
        return lowest

    def _priority(self, packed: PackedPings, copy: Integers) -> Hashes:
        """Return the priority of a ping and its number among its equals. The first copy's is the packed ping itself."""
        again = _fold(packed) * self._factors[np.minimum(copy, _COPIES - 1)]
        return np.where(copy == 0, packed, np.where(copy < _COPIES, again, _LAST))

    @property
    def _factors(self) -> Hashes:
        """Odd numbers that turn a packed ping into the priorities of its second, third, ... copy. (copies,)"""
        return mix(np.uint64(self.key.second) + np.arange(_COPIES, dtype=np.uint64)) | np.uint64(1)


class _Weighted:
    """What boundings share that weigh all pings. A packed ping holds above its cell how many pings it stands for."""

    cell_bits: int

    def pack(self, pings: Located, user_hash: Hashes) -> PackedPings:  # noqa: ARG002  part of the protocol
        return pings.cell.view(np.uint64) | np.uint64(1 << self.cell_bits)

    def prune(self, sizes: Integers, packed: PackedPings) -> tuple[Integers, PackedPings]:
        return _prune_users(sizes, packed, 4 * _PRUNE_ABOVE, self._merge_cells)

    def _merge_cells(self, packed: PackedPings) -> PackedPings:
        """Merge the pings of each cell into one, from pings that stand for one each."""
        cells, pings = np.unique(packed, return_counts=True)
        merged: PackedPings = cells + (pings.astype(np.uint64) - np.uint64(1)) * np.uint64(1 << self.cell_bits)
        return merged

    def _unpack(self, packed: PackedPings) -> tuple[Integers, Integers]:
        """Return the cells, and how many pings stand there."""
        pings = (packed >> np.uint64(self.cell_bits)).view(np.int64)
        return (packed & np.uint64((1 << self.cell_bits) - 1)).view(np.int64), pings


@dataclass(frozen=True)
class Weight(_Weighted):
    """Weighs the pings of each user so that they sum to at most k."""

    k: int
    cell_bits: int

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        cells, pings = self._unpack(packed)
        # Floating-point sums of whole numbers below 2**53: exact.
        sizes = np.bincount(code, weights=pings, minlength=users).astype(np.int64)
        k = min(self.k, _MAX_PINGS_PER_USER)  # so that the product fits
        weights = np.minimum(WEIGHT_UNIT, k * WEIGHT_UNIT // np.maximum(sizes, 1))
        return cells, pings * weights[code]


@dataclass(frozen=True)
class Norm(_Weighted):
    """Weighs the pings of each user so that the counts of all cells have an L2 norm of at most `norm` pings."""

    norm: int
    cell_bits: int

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        code, cells, pings = merge_pairs(code, *self._unpack(packed))
        return cells, pings * find_weights(users, code, pings, self.norm)[code]


def _fold(packed: PackedPings) -> Hashes:
    """Map 64 bits one to one, so that a product's upper bits depend on all of them."""
    return packed ^ (packed >> np.uint64(32))


def _number_copies(packed: PackedPings) -> Integers:
    """Number each of some sorted pings among its equals, from 0."""
    return count_within_runs(mark_run_starts(packed))


def _prune_users(
    sizes: Integers, packed: PackedPings, limit: int, prune_one: Callable[[PackedPings], PackedPings]
) -> tuple[Integers, PackedPings]:
    """Prune the pings of users with more than `limit` of them, each such user alone; leave the others' as they are."""
    many = np.flatnonzero(sizes > limit)
    if not len(many):
        return sizes, packed
    ends = np.cumsum(sizes)
    sizes = sizes.copy()
    parts, done = [], 0
    for user in many:
        begin, end = int(ends[user] - sizes[user]), int(ends[user])
        fewer = prune_one(packed[begin:end])
        parts += [packed[done:begin], fewer]
        sizes[user], done = len(fewer), end
    return sizes, np.concatenate([*parts, packed[done:]])
