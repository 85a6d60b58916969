"""Bounding: at most k pings of each user reach the counts, chosen uniformly among the user's own.

A ping's priority is a keyed hash of what identifies it, and the k lowest priorities are kept. The key is drawn once
for a run, so a task that is recomputed, retried or run twice chooses the same pings; with `rand()` it would choose
anew, and a user could enter some slices by one choice and other slices by the next. Exact duplicates of a ping are
separate pings: each gets a number among its equals, and that number enters the hash.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from vdr_spark.collect.packing import PACKED_SCHEMA, pack_cells
from vdr_spark.grid import Grid

Integers = NDArray[np.int64]


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


def sample_and_count(located: DataFrame, grid: Grid, k: int, key: SampleKey, partitions: int) -> DataFrame:
    """Located pings to packed counts (`collect.packing`), with at most k pings of each user in them.

    All pings of a user meet in one task: the shuffle is by user with a fixed number of partitions, which Spark's
    adaptive execution leaves alone.
    """
    by_user = located.repartition(partitions, "user")
    return by_user.mapInArrow(_counter_of_kept(k, key, grid.cells**2), PACKED_SCHEMA)


def _counter_of_kept(
    k: int, key: SampleKey, cells_per_slice: int
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = next(iterator := iter(batches), None)
        if first is None:
            return
        table = pa.Table.from_batches([first, *iterator])
        # Equal ids get equal numbers, by comparing the ids themselves.
        user = table.column("user").combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
        ping, cell = table.column("ping").to_numpy(), table.column("cell").to_numpy()
        kept = keep_lowest(user.astype(np.int64), ping, cell, k, key)
        yield from pack_cells(cell[kept], cells_per_slice)

    return count


def keep_lowest(user: Integers, ping: Integers, cell: Integers, k: int, key: SampleKey) -> Integers:
    """Positions of the pings to keep: of each user the k of lowest priority. All arrays (n,)."""
    # Equal pings become neighbours; `cell` makes the order, and so the choice, independent of how rows arrived.
    order = np.lexsort((cell, ping, user))
    new_user = _changes(user[order])
    new_ping = new_user | _changes(ping[order])
    priority = _priority(ping[order], _position_in_run(new_ping), key)
    by_priority = np.lexsort((priority, np.cumsum(new_user)))
    # Sorting within users leaves every user's stretch in place, so `new_user` still marks where one begins.
    kept = _position_in_run(new_user) < k
    chosen: Integers = order[by_priority[kept]]
    return chosen


def _changes(values: Integers) -> NDArray[np.bool_]:
    """True where a value differs from the one before it, and at the start."""
    return np.concatenate(([True], values[1:] != values[:-1]))[: len(values)]


def _position_in_run(starts: NDArray[np.bool_]) -> Integers:
    """0, 1, 2, ... counted anew from every start."""
    positions = np.arange(len(starts))
    return positions - np.maximum.accumulate(np.where(starts, positions, 0)) if len(starts) else positions


def _priority(ping: Integers, occurrence: Integers, key: SampleKey) -> NDArray[np.uint64]:
    """A keyed hash of each ping and its number among equals, uniform on 64 bits."""
    number = occurrence.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = _mix(ping.view(np.uint64) ^ np.uint64(key.first))
    return _mix(mixed + number + np.uint64(key.second))


def _mix(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64: every input bit reaches every output bit."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
