"""The two tasks that every ping passes: one sends it to the bucket of its user, one bounds the user and counts.

One pass over the data, one shuffle of eight bytes per ping, nothing broadcast: memory depends on how many pings a
task holds, never on how many users there are. Spark's types are named for the checker only: workers import this.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from vdr_spark.arrow_columns import to_column
from vdr_spark.collect.bounding import Bounding, SampleKey
from vdr_spark.collect.buckets import (
    BUCKET_SCHEMA,
    MAX_BUCKETS,
    encode_ids,
    hash_ids,
    pack_buckets,
    sort_by_bucket_and_user,
    unpack_buckets,
)
from vdr_spark.collect.locate import Located, locate
from vdr_spark.collect.packed_counts import PACKED_SCHEMA, add_up, pack_counts
from vdr_spark.grid import Grid
from vdr_spark.workers import ArrowTask, in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vdr_spark.collect.source import Source

_PINGS_PER_CHUNK = 1 << 20
_ID_BYTES_PER_CHUNK = 1 << 28  # a text of any length may be an id
_MIN_BUCKETS = 256
_BUCKETS_PER_TASK = 16  # so that tasks get about equally many


def count_bounded(
    source: Source, grids: Sequence[Grid], bounding: Bounding, key: SampleKey, partitions: int
) -> DataFrame:
    """Count the pings of every user, bounded over all grids together, as packed counts (`collect.packed_counts`)."""
    buckets = min(MAX_BUCKETS, max(_MIN_BUCKETS, _BUCKETS_PER_TASK * partitions))
    bucketed = source.map(build_bucket_task(grids, bounding, key, buckets), BUCKET_SCHEMA)
    # The number of partitions is ours, so Spark's adaptive execution leaves it alone.
    by_bucket = bucketed.repartition(partitions, "bucket")
    return by_bucket.mapInArrow(in_worker(build_count_task(grids, bounding)), PACKED_SCHEMA)


def build_bucket_task(grids: Sequence[Grid], bounding: Bounding, key: SampleKey, buckets: int) -> ArrowTask:
    """Build the task that turns batches of pings into packed rows, one per chunk and bucket."""

    def fill_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in _chunks(batches, grids):
            ids, code = encode_ids(pa.concat_arrays([pings.user for pings in chunk]))
            hashes = hash_ids(ids, key.first)
            begins = np.cumsum([0, *map(len, chunk)])
            parts = [
                bounding.pack(pings, hashes[code[begin : begin + len(pings)]])
                for begin, pings in zip(begins, chunk, strict=False)
            ]
            bucket_of_id = (hashes % np.uint64(buckets)).astype(np.int32)
            order, sizes, packed = sort_by_bucket_and_user(bucket_of_id, code, np.concatenate(parts))
            sizes, packed = bounding.prune(sizes, packed)
            yield pack_buckets(ids.take(to_column(order)), bucket_of_id[order], sizes, packed)

    return fill_buckets


def _chunks(batches: Iterable[pa.RecordBatch], grids: Sequence[Grid]) -> Iterator[list[Located]]:
    """Yield located pings, about a million at a time."""
    chunk: list[Located] = []
    size = id_bytes = 0
    for batch in batches:
        pings = locate(batch, grids)
        if len(pings):
            chunk.append(pings)
            size += len(pings)
            id_bytes += pings.user.nbytes
        if size >= _PINGS_PER_CHUNK or id_bytes >= _ID_BYTES_PER_CHUNK:
            yield chunk
            chunk, size, id_bytes = [], 0, 0
    if chunk:
        yield chunk


def build_count_task(grids: Sequence[Grid], bounding: Bounding) -> ArrowTask:
    """Build the task that bounds the users of its buckets and counts, one packed row per layer."""
    cells_per_layer = grids[0].cells_per_side ** 2

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [bounding.count_cells(users, code, packed) for users, code, packed in unpack_buckets(batches)]
        yield from pack_counts(add_up(parts, cells_per_layer))

    return count
