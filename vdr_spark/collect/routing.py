"""Pings on their way to the task that bounds their user: packed rows through the shuffle.

Users are spread over *routes* by a hash of their id, and a packed row holds all pings of one chunk on one route: the
ids of their users once each, how many pings each of them has, and a word for every ping (`collect.bounding`), user
by user. The last two are binary: eight bytes a ping, and four and the id for each user of a chunk.

The hash only chooses the way. Users are told apart by their ids themselves: two users whose hashes meet would
otherwise be bounded as one person, and the removal of one could change what is kept of the other, a sensitivity of 2k.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from vdr_spark.collect.arrays import Codes, Integers, Words, order_by
from vdr_spark.collect.mixing import mix

MOST_ROUTES = 1 << 15


def routed_schema(id_type: str) -> str:
    """Of packed rows, in Spark's words; `id_type` is bigint or string."""
    return f"route int, users array<{id_type}>, sizes binary, words binary"


def hash_ids(ids: pa.Array, key: int) -> Words:
    """64 bits of each id under a key, the same in every process. (d,)"""
    if pa.types.is_integer(ids.type):
        plain = ids.cast(pa.int64()).to_numpy().view(np.uint64)
    else:
        # As bytes: whether an id is good UTF-8 is nobody's business here.
        plain = pd.util.hash_array(ids.cast(pa.binary()).to_numpy(zero_copy_only=False), categorize=False)
    return mix(plain ^ np.uint64(key))


def by_route_and_user(route_of_id: Codes, code: Codes, words: Words) -> tuple[Integers, Integers, Words]:
    """Pings of one route together, those of one user in a row: the order of the ids (d,), how many pings each of them
    has in that order (d,), and the words in theirs (n,). Takes the route of each id (d,) and each ping's id (n,)."""
    order = order_by(route_of_id)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    code = rank[code]
    return order, np.bincount(code, minlength=len(order)), words[order_by(code)]


def pack_routes(ids: pa.Array, route_of_id: Codes, sizes: Integers, words: Words) -> pa.RecordBatch:
    """One row for each route that occurs; ids, routes and sizes (d,), words (n,), all in the order of the routes."""
    routes, first_id = np.unique(route_of_id, return_index=True)
    id_ends = np.append(first_id, len(ids)).astype(np.int32)
    word_ends = np.concatenate(([0], np.cumsum(sizes)))[id_ends]
    columns = {
        "route": pa.array(routes),
        "users": pa.ListArray.from_arrays(id_ends, ids),
        "sizes": _binary(sizes.astype(np.int32), id_ends),
        "words": _binary(words, word_ends),
    }
    return pa.RecordBatch.from_pydict(columns)


def unpack_routes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Codes, Words]]:
    """One route after the other, with all its pings: the number of users, and code and word of each ping."""
    parts: dict[int, list[tuple[pa.Array, Codes, Words]]] = {}
    for batch in batches:
        users, sizes, words = (batch.column(name) for name in ("users", "sizes", "words"))
        for row, route in enumerate(batch.column("route").to_pylist()):
            part = users[row].values, _array(sizes[row], np.int32), _array(words[row], np.uint64)
            parts.setdefault(route, []).append(part)
    for route in sorted(parts):
        ids, sizes, words = zip(*parts.pop(route), strict=True)
        # Equal ids get equal codes, by comparing the ids themselves.
        joined = pa.concat_arrays(ids).dictionary_encode()
        code = np.repeat(joined.indices.to_numpy(), np.concatenate(sizes))
        yield len(joined.dictionary), code, np.concatenate(words)


def _binary(values: NDArray[Any], ends: NDArray[Any]) -> pa.Array:
    """The stretches between `ends` as binary values, without a copy."""
    offsets = (ends.astype(np.int64) * values.dtype.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def _array(value: pa.BinaryScalar, dtype: type) -> NDArray[Any]:
    return np.frombuffer(value.as_buffer(), dtype=dtype)
