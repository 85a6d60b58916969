"""Pings on their way to the task that bounds their user: packed rows through the shuffle.

Users are spread over *routes* by a hash of their id, and a packed row holds all pings of one chunk on one route: the
ids of their users once each, then for every ping a code that points at its user and a word (`collect.bounding`),
both as binary: twelve bytes a ping.

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

from vdr_spark.collect.mixing import mix

Words = NDArray[np.uint64]
Codes = NDArray[np.int32]

MOST_ROUTES = 1 << 15  # their numbers have 16 bits, which NumPy sorts by radix


def routed_schema(id_type: str) -> str:
    """Of packed rows, in Spark's words; `id_type` is bigint or string."""
    return f"route smallint, users array<{id_type}>, codes binary, words binary"


def hash_ids(ids: pa.Array, key: int) -> Words:
    """64 bits of each id under a key, the same in every process. (d,)"""
    if pa.types.is_integer(ids.type):
        plain = ids.cast(pa.int64()).to_numpy().view(np.uint64)
    else:
        # As bytes: whether an id is good UTF-8 is nobody's business here.
        plain = pd.util.hash_array(ids.cast(pa.binary()).to_numpy(zero_copy_only=False), categorize=False)
    return mix(plain ^ np.uint64(key))


def pack_routes(ids: pa.Array, route_of_id: NDArray[np.int16], code: Codes, words: Words) -> pa.RecordBatch:
    """One row for each route that occurs, from ids and their routes (d,), and codes into the ids and words (n,)."""
    by_route = np.argsort(route_of_id, kind="stable")
    routes = route_of_id[by_route]
    rank = np.empty(len(ids), dtype=np.int32)
    rank[by_route] = np.arange(len(ids), dtype=np.int32)
    code = rank[code]
    order = np.argsort(routes[code], kind="stable")
    present, first_id = np.unique(routes, return_index=True)
    id_ends = np.append(first_id, len(ids)).astype(np.int32)
    code, words = code[order], words[order]
    ends = np.searchsorted(code, id_ends)
    code -= np.repeat(id_ends[:-1], np.diff(ends))
    users = pa.ListArray.from_arrays(id_ends, ids.take(pa.array(by_route)))
    columns = {"route": pa.array(present), "users": users, "codes": _binary(code, ends), "words": _binary(words, ends)}
    return pa.RecordBatch.from_pydict(columns)


def unpack_routes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Codes, Words]]:
    """One route after the other, with all its pings: the number of users, and code and word of each ping."""
    parts: dict[int, list[tuple[pa.Array, Codes, Words]]] = {}
    for batch in batches:
        users, codes, words = (batch.column(name) for name in ("users", "codes", "words"))
        for row, route in enumerate(batch.column("route").to_pylist()):
            part = users[row].values, _array(codes[row], np.int32), _array(words[row], np.uint64)
            parts.setdefault(route, []).append(part)
    for route in sorted(parts):
        ids, codes, words = zip(*parts.pop(route), strict=True)
        # Equal ids get equal codes, by comparing the ids themselves.
        joined = pa.concat_arrays(ids).dictionary_encode()
        meaning = joined.indices.to_numpy()
        begins = np.cumsum([0, *map(len, ids)])[:-1]
        code = np.concatenate([meaning[begin + part] for begin, part in zip(begins, codes, strict=True)])
        yield len(joined.dictionary), code, np.concatenate(words)


def _binary(values: NDArray[Any], ends: NDArray[np.int64]) -> pa.Array:
    """The stretches between `ends` as binary values, without a copy."""
    offsets = (ends * values.dtype.itemsize).astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def _array(value: pa.BinaryScalar, dtype: type) -> NDArray[Any]:
    return np.frombuffer(value.as_buffer(), dtype=dtype)
