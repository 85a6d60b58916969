"""Pings on their way to the task that bounds their user: packed rows through the shuffle.

Users are spread over *routes* by a hash of their id, and a packed row holds all pings of one chunk on one route: the
ids of their users once each, how many pings each of them has, and a word for every ping (`collect.bounding`), user
by user. All of it is binary, because Spark takes lists apart number by number: eight bytes a ping, and for each user
of a chunk four and the id (eight, or a text and four).

The hash only chooses the way. Users are told apart by their ids themselves: two users whose hashes meet would
otherwise be bounded as one person, and the removal of one could change what is kept of the other, a sensitivity of 2k.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from vdr_spark.collect.hashing import absorb, mix
from vdr_spark.collect.sorting import Codes, Integers, Words, order_by

MOST_ROUTES = 1 << 15
ROUTED_SCHEMA = "route int, users binary, lengths binary, sizes binary, words binary"
"""Of packed rows, in Spark's words. `lengths` of ids are empty where ids are numbers."""

_LOOKED_AT = 4096  # ids, to guess how often they repeat
_LONG = 256  # bytes; longer texts are hashed one by one

Bytes = NDArray[np.uint8]


def distinct_ids(users: pa.Array) -> tuple[pa.Array, Codes]:
    """The ids that occur, once each, and which of them stands where. (n,) -> (d,), (n,)"""
    if pa.types.is_integer(users.type) and _mostly_distinct(users[:_LOOKED_AT]):
        # Arrow's table of many new numbers costs three times as much as pandas', and a third with few.
        code, ids = pd.factorize(users.to_numpy())
        return pa.array(ids), code.astype(np.int32)
    encoded = users.dictionary_encode()
    return encoded.dictionary, encoded.indices.to_numpy()


def _mostly_distinct(some: pa.Array) -> bool:
    return len(np.unique(some.to_numpy())) > len(some) / 2


def hash_ids(ids: pa.Array, key: int) -> Words:
    """64 bits of each id under a key, the same in every process. (d,)"""
    if pa.types.is_integer(ids.type):
        plain = ids.cast(pa.int64()).to_numpy().view(np.uint64)
    else:
        plain = _hash_texts(*_bytes_of(ids))
    return mix(plain ^ np.uint64(key))


def _hash_texts(data: Bytes, ends: Integers) -> Words:
    """Of texts one after the other, with `ends` of d + 1 places between them. Eight letters of each at a time. (d,)"""
    begins, lengths = ends[:-1], np.diff(ends)
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    # The eight bytes from any place on.
    eights: Words = np.ndarray(len(padded) - 7, np.dtype("<u8"), padded.data, strides=(1,))
    state = lengths.astype(np.uint64)
    for at in range(0, min(_LONG, int(lengths.max(initial=0))), 8):
        on = np.flatnonzero((lengths > at) & (lengths <= _LONG))
        beyond = np.maximum(8 - (lengths[on] - at), 0).astype(np.uint64) * np.uint64(8)  # bits of the next text
        state[on] = absorb(state[on], eights[begins[on] + at] << beyond >> beyond)
    for number in np.flatnonzero(lengths > _LONG):
        digest = hashlib.blake2b(data[ends[number] : ends[number + 1]].tobytes(), digest_size=8).digest()
        state[number] = int.from_bytes(digest, "little")
    return state


def _bytes_of(ids: pa.Array) -> tuple[Bytes, Integers]:
    """Texts as bytes, one after the other, and the places between them. Whether they are good UTF-8 does not matter."""
    plain = ids.cast(pa.large_binary())
    _, ends, data = plain.buffers()
    places = np.frombuffer(ends, np.int64)[plain.offset : plain.offset + len(plain) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), places


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
    if pa.types.is_integer(ids.type):
        users, lengths = _binary(ids.cast(pa.int64()).to_numpy(), id_ends), _binary(np.empty(0), 0 * id_ends)
    else:
        letters, places = _bytes_of(ids)
        users, lengths = _binary(letters, places[id_ends]), _binary(np.diff(places).astype(np.int32), id_ends)
    columns = {
        "route": pa.array(routes),
        "users": users,
        "lengths": lengths,
        "sizes": _binary(sizes.astype(np.int32), id_ends),
        "words": _binary(words, word_ends),
    }
    return pa.RecordBatch.from_pydict(columns)


def unpack_routes(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Codes, Words]]:
    """One route after the other, with all its pings: the number of users, and code and word of each ping."""
    parts: dict[int, list[tuple[Bytes, Codes, Codes, Words]]] = {}
    kinds = {"users": np.uint8, "lengths": np.int32, "sizes": np.int32, "words": np.uint64}
    for batch in batches:
        columns = [(batch.column(name), kind) for name, kind in kinds.items()]
        for row, route in enumerate(batch.column("route").to_pylist()):
            users, lengths, sizes, words = (_array(column[row], kind) for column, kind in columns)
            parts.setdefault(route, []).append((users, lengths, sizes, words))
    for route in sorted(parts):
        of_users, of_lengths, of_sizes, of_words = zip(*parts.pop(route), strict=True)
        # Equal ids get equal codes, by comparing the ids themselves.
        joined = _joined_ids(of_users, of_lengths).dictionary_encode()
        code = np.repeat(joined.indices.to_numpy(), np.concatenate(of_sizes))
        yield len(joined.dictionary), code, np.concatenate(of_words)


def _joined_ids(users: Sequence[Bytes], lengths: Sequence[Codes]) -> pa.Array:
    letters, of_texts = np.concatenate(users), np.concatenate(lengths)
    if not len(of_texts):
        return pa.array(letters.view(np.int64))
    places = np.concatenate(([0], np.cumsum(of_texts, dtype=np.int64)))
    return pa.Array.from_buffers(pa.large_binary(), len(of_texts), [None, pa.py_buffer(places), pa.py_buffer(letters)])


def _binary(values: NDArray[Any], ends: NDArray[Any]) -> pa.Array:
    """The stretches between `ends` as binary values, without a copy."""
    offsets = ends.astype(np.int64) * values.dtype.itemsize
    if offsets[-1] >= 2**31:
        raise OverflowError("a chunk of pings is larger than Arrow's offsets reach")  # never wrapped silently
    offsets = offsets.astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def _array(value: pa.BinaryScalar, dtype: type) -> NDArray[Any]:
    return np.frombuffer(value.as_buffer(), dtype=dtype)
