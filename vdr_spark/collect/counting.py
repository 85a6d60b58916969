"""The two tasks that every ping passes: one routes it to its user's others, one bounds the user and counts.

One pass over the data, one shuffle of eight bytes a ping, nothing broadcast: memory depends on how many pings a
task holds, never on how many users there are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from vdr_spark.collect.bounding import Bounding, SampleKey
from vdr_spark.collect.buckets import (
    MOST_ROUTES,
    ROUTED_SCHEMA,
    by_route_and_user,
    distinct_ids,
    hash_ids,
    pack_routes,
    unpack_routes,
)
from vdr_spark.collect.locate import Located, locate
from vdr_spark.collect.packed_counts import PACKED_SCHEMA, add_up, pack_counts
from vdr_spark.collect.source import Source
from vdr_spark.grid import Grid
from vdr_spark.workers import ArrowTask, in_worker

_PINGS_A_CHUNK = 1 << 20
_ID_BYTES_A_CHUNK = 1 << 28  # a text of any length may be an id
_LEAST_ROUTES = 256
_ROUTES_A_TASK = 16  # so that tasks get about equally many


def count_bounded(
    source: Source, grids: Sequence[Grid], bounding: Bounding, key: SampleKey, partitions: int
) -> DataFrame:
    """Packed counts (`collect.packing`) with every user bounded over all grids together."""
    routes = min(MOST_ROUTES, max(_LEAST_ROUTES, _ROUTES_A_TASK * partitions))
    routed = source.map(_router(grids, bounding, key, routes), ROUTED_SCHEMA)
    # The number of partitions is ours, so Spark's adaptive execution leaves it alone.
    return routed.repartition(partitions, "route").mapInArrow(in_worker(_counter(grids, bounding)), PACKED_SCHEMA)


def _router(grids: Sequence[Grid], bounding: Bounding, key: SampleKey, routes: int) -> ArrowTask:
    def route(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for chunk in _chunks(batches, grids):
            ids, code = distinct_ids(pa.concat_arrays([pings.user for pings in chunk]))
            hashes = hash_ids(ids, key.first)
            begins = np.cumsum([0, *map(len, chunk)])
            words = [
                bounding.words(pings, hashes[code[begin : begin + len(pings)]])
                for begin, pings in zip(begins, chunk, strict=False)
            ]
            route_of_id = (hashes % np.uint64(routes)).astype(np.int32)
            order, sizes, joined = by_route_and_user(route_of_id, code, np.concatenate(words))
            sizes, joined = bounding.condensed(sizes, joined)
            yield pack_routes(ids.take(pa.array(order)), route_of_id[order], sizes, joined)

    return route


def _chunks(batches: Iterable[pa.RecordBatch], grids: Sequence[Grid]) -> Iterator[list[Located]]:
    """Located pings, about a million at a time."""
    chunk: list[Located] = []
    size = id_bytes = 0
    for batch in batches:
        pings = locate(batch, grids)
        if len(pings):
            chunk.append(pings)
            size += len(pings)
            id_bytes += pings.user.nbytes
        if size >= _PINGS_A_CHUNK or id_bytes >= _ID_BYTES_A_CHUNK:
            yield chunk
            chunk, size, id_bytes = [], 0, 0
    if chunk:
        yield chunk


def _counter(grids: Sequence[Grid], bounding: Bounding) -> ArrowTask:
    cells, cells_per_layer = sum(grid.size for grid in grids), grids[0].cells_per_side ** 2

    def count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts = [bounding.counted(users, code, words) for users, code, words in unpack_routes(batches)]
        yield from pack_counts(*add_up(parts, cells), cells_per_layer)

    return count
