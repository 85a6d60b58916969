"""Pings on their way to the task that bounds their user: packed rows through the shuffle.

Users are spread over *buckets* by a hash of their id, and a packed row holds all pings of one chunk in one bucket: the
ids of their users once each, how many pings each of them has, and every ping in 64 bits (`collect.bounding`), user by
user. All of it is binary, because Spark takes lists apart number by number: eight bytes per ping, and for each user of
a chunk four and the id (eight, or a text and four).

The hash only chooses the bucket. Users are told apart by their ids themselves: two users whose hashes collide would
otherwise be bounded as one person, and the removal of one could change what is kept of the other, a sensitivity of 2k.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vdr_spark.arrays import Integers
from vdr_spark.arrow_columns import to_column, to_numbers
from vdr_spark.collect.hashing import absorb, mix
from vdr_spark.collect.sorting import Codes, Hashes, PackedPings, order_by

MAX_BUCKETS = 1 << 15
BUCKET_SCHEMA = "bucket int, users binary, lengths binary, sizes binary, pings binary"
"""The columns of packed rows, as Spark spells them. `lengths` of ids are empty where ids are numbers."""

_IDS_TO_SAMPLE = 4096  # to guess how often they repeat
_WORTH_AN_IMPORT = 1 << 17  # pings: with fewer, there is no second to be saved
_MAX_BYTES_AT_ONCE = 256  # longer texts are hashed one by one

Bytes = NDArray[np.uint8]


def encode_ids(users: pa.Array) -> tuple[pa.Array, Codes]:
    """Return the ids that occur, once each, and which of them stands where. (n,) -> (d,), (n,)"""
    if pa.types.is_integer(users.type) and len(users) >= _WORTH_AN_IMPORT and _are_mostly_distinct(users):
        # Arrow's table of many new numbers costs three times as much as that of pandas, and as little with few. pandas
        # takes a second to import, so only workers that have use for it pay; a radix sort took up to 2.5 times as long.
        with suppress(ImportError):  # a worker may have none: it waits, and gets the same
            import pandas as pd

            code, ids = pd.factorize(users.to_numpy())
            return to_column(ids), code.astype(np.int32)
    encoded = users.dictionary_encode()
    return encoded.dictionary, to_numbers(encoded.indices, np.int32)


def _are_mostly_distinct(ids: pa.Array) -> bool:
    sample = to_numbers(ids[:_IDS_TO_SAMPLE], np.int64)
    return len(np.unique(sample)) > len(sample) / 2


def hash_ids(ids: pa.Array, key: int) -> Hashes:
    """Hash each id to 64 bits under a key, the same in every process. (d,)"""
    if pa.types.is_integer(ids.type):
        plain = to_numbers(ids, np.int64).view(np.uint64)
    else:
        plain = _hash_texts(*_split_bytes(ids))
    return mix(plain ^ np.uint64(key))


def _hash_texts(data: Bytes, offsets: Integers) -> Hashes:
    """Hash d texts that stand one after the other, with d + 1 offsets. Eight bytes of each at a time. (d,)"""
    begins, lengths = offsets[:-1], np.diff(offsets)
    padded = np.concatenate([data, np.zeros(8, np.uint8)])
    # The eight bytes from any offset on.
    eights: Hashes = np.ndarray(len(padded) - 7, np.dtype("<u8"), padded.data, strides=(1,))
    state = lengths.astype(np.uint64)
    for at in range(0, min(_MAX_BYTES_AT_ONCE, int(lengths.max(initial=0))), 8):
        on = np.flatnonzero((lengths > at) & (lengths <= _MAX_BYTES_AT_ONCE))
        beyond = np.maximum(8 - (lengths[on] - at), 0).astype(np.uint64) * np.uint64(8)  # bits of the next text
        state[on] = absorb(state[on], eights[begins[on] + at] << beyond >> beyond)
    for number in np.flatnonzero(lengths > _MAX_BYTES_AT_ONCE):
        text = data[offsets[number] : offsets[number + 1]].tobytes()
        state[number] = int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")
    return state


def _split_bytes(ids: pa.Array) -> tuple[Bytes, Integers]:
    """Return the bytes of texts, one after the other, and the offsets between them. They need not be good UTF-8."""
    plain = ids.cast(pa.large_binary())
    _, ends, data = plain.buffers()
    offsets = np.frombuffer(ends, np.int64)[plain.offset : plain.offset + len(plain) + 1]
    return np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8), offsets


def sort_by_bucket_and_user(
    bucket_of_id: Codes, code: Codes, packed: PackedPings
) -> tuple[Integers, Integers, PackedPings]:
    """Bring the pings of one bucket together, and within it those of one user.

    Takes the bucket of each id (d,), each ping's id (n,) and the pings (n,). Returns the order of the ids (d,), how
    many pings each of them has in that order (d,), and the pings in theirs (n,).
    """
    order = order_by(bucket_of_id)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    code = rank[code]
    return order, np.bincount(code, minlength=len(order)), packed[order_by(code)]


def pack_buckets(ids: pa.Array, bucket_of_id: Codes, sizes: Integers, packed: PackedPings) -> pa.RecordBatch:
    """Pack one row per bucket that occurs; ids, buckets and sizes (d,), pings (n,), all in the order of the buckets."""
    buckets, first_id = np.unique(bucket_of_id, return_index=True)
    id_offsets = np.append(first_id, len(ids)).astype(np.int32)
    ping_offsets = np.concatenate(([0], np.cumsum(sizes)))[id_offsets]
    if pa.types.is_integer(ids.type):
        users, lengths = (
            _as_binary(to_numbers(ids, np.int64), id_offsets),
            _as_binary(np.empty(0), 0 * id_offsets),
        )
    else:
        data, offsets = _split_bytes(ids)
        users = _as_binary(data, offsets[id_offsets])
        lengths = _as_binary(np.diff(offsets).astype(np.int32), id_offsets)
    columns = {
        "bucket": to_column(buckets),
        "users": users,
        "lengths": lengths,
        "sizes": _as_binary(sizes.astype(np.int32), id_offsets),
        "pings": _as_binary(packed, ping_offsets),
    }
    return pa.RecordBatch.from_pydict(columns)


def unpack_buckets(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Codes, PackedPings]]:
    """Yield one bucket after the other, whole: the number of users, the user of each ping as a code, and the pings."""
    parts: dict[int, list[tuple[Bytes, Codes, Codes, PackedPings]]] = {}
    kinds = {"users": np.uint8, "lengths": np.int32, "sizes": np.int32, "pings": np.uint64}
    for batch in batches:
        columns = [(batch.column(name), kind) for name, kind in kinds.items()]
        for row, bucket in enumerate(batch.column("bucket").to_pylist()):
            users, lengths, sizes, packed = (_as_array(column[row], kind) for column, kind in columns)
            parts.setdefault(bucket, []).append((users, lengths, sizes, packed))
    for bucket in sorted(parts):
        users_of, lengths_of, sizes_of, packed_of = zip(*parts.pop(bucket), strict=True)
        # Equal ids get equal codes, by comparing the ids themselves.
        ids = _join_ids(users_of, lengths_of).dictionary_encode()
        code = np.repeat(to_numbers(ids.indices, np.int32), np.concatenate(sizes_of))
        yield len(ids.dictionary), code, np.concatenate(packed_of)


def _join_ids(users: Sequence[Bytes], lengths: Sequence[Codes]) -> pa.Array:
    data, text_lengths = np.concatenate(users), np.concatenate(lengths)
    if not len(text_lengths):
        return to_column(data.view(np.int64))
    offsets = np.concatenate(([0], np.cumsum(text_lengths, dtype=np.int64)))
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.large_binary(), len(text_lengths), buffers)


def _as_binary(values: NDArray[Any], ends: NDArray[Any]) -> pa.Array:
    """Cut an array at `ends` into binary values, without a copy."""
    offsets = ends.astype(np.int64) * values.dtype.itemsize
    if offsets[-1] >= 2**31:
        raise OverflowError("a chunk of pings is larger than Arrow's offsets reach")  # never wrapped silently
    offsets = offsets.astype(np.int32)
    return pa.Array.from_buffers(pa.binary(), len(ends) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(values)])


def _as_array(value: pa.BinaryScalar, dtype: type) -> NDArray[Any]:
    return np.frombuffer(value.as_buffer(), dtype=dtype)
