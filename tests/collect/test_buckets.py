"""Pings reach the task of their user, and users are told apart by their ids, whatever the hash says."""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.collect import buckets, counting
from vdr_spark.collect.bounding import Sample, SampleKey
from vdr_spark.collect.buckets import encode_ids, hash_ids, pack_buckets, sort_by_bucket_and_user, unpack_buckets
from vdr_spark.collect.hashing import absorb, mix
from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.grid import Box, Grid

Id = int | str
Chunk = list[tuple[Id, int]]  # user, packed ping
KEY = SampleKey.seeded(1)
AWKWARD = [
    "",
    " ",
    "a",
    "A",
    "nan",
    "None",
    "\u00e9",
    "e\u0301",
    "日本",
    "🦉",
    "x" * 300,
    "x" * 301,
    "12345678",
    "12345678\x00",
    "x" * 256,
    "\x00",
    "a\x00",
]


def pack(chunk: Chunk, number: int) -> pa.RecordBatch:
    kind = pa.string() if isinstance(chunk[0][0], str) else pa.int64()
    user = pa.array([user for user, _ in chunk], kind).dictionary_encode()
    bucket = (hash_ids(user.dictionary, KEY.first) % np.uint64(number)).astype(np.int32)
    packed = np.array([ping for _, ping in chunk], dtype=np.uint64)
    order, sizes, packed = sort_by_bucket_and_user(bucket, user.indices.to_numpy(), packed)
    return pack_buckets(user.dictionary.take(pa.array(order)), bucket[order], sizes, packed)


def pings_by_user(batches: Sequence[pa.RecordBatch]) -> list[tuple[int, ...]]:
    """The packed of each user, without the ids, which have done their work; sorted."""
    found = []
    for users, code, packed in unpack_buckets(batches):
        assert code.dtype == np.int32
        found += [tuple(sorted(packed[code == user].tolist())) for user in range(users)]
    return sorted(found)


def expected(chunks: list[Chunk]) -> list[tuple[int, ...]]:
    everything = [ping for chunk in chunks for ping in chunk]
    return sorted(tuple(sorted(ping for of, ping in everything if of == user)) for user in {of for of, _ in everything})


ping = st.integers(0, 2**64 - 1)
chunks_of_ids = st.one_of(
    st.lists(st.lists(st.tuples(ids, ping), min_size=1, max_size=25), min_size=1, max_size=4)
    for ids in (st.integers(-(2**63), 2**63 - 1), st.integers(-2, 3), st.text(max_size=3), st.sampled_from(AWKWARD))
)


@given(chunks_of_ids, st.sampled_from([1, 2, 256, 2**15]))
def test_every_user_gets_all_their_pings_back(chunks: list[Chunk], number: int) -> None:
    """With a single bucket all ids are together, as users of one hash would be: the ids still keep them apart."""
    assert pings_by_user([pack(chunk, number) for chunk in chunks]) == expected(chunks)


@given(chunks_of_ids, st.sampled_from([1, 3, 256]))
def test_a_bucket_stands_once_in_a_batch(chunks: list[Chunk], number: int) -> None:
    for chunk in chunks:
        batch = pack(chunk, number)
        assert max(Counter(batch.column("bucket").to_pylist()).values()) == 1
        users = sum(len(sizes) // 4 for sizes in batch.column("sizes").to_pylist())
        assert users == len({user for user, _ in chunk})  # and each id once


def test_a_user_of_several_chunks_has_one_code() -> None:
    batches = [pack([("b", 1), ("a", 2)], 1), pack([("a", 3)], 1), pack([("c", 4), ("a", 5)], 1)]
    ((users, code, packed),) = unpack_buckets(batches)
    assert users == 3
    assert len({*code[np.isin(packed, [2, 3, 5])].tolist()}) == 1
    assert len({*code.tolist()}) == 3


def test_a_user_whose_pings_were_all_pruned_does_no_harm() -> None:
    ids, bucket_of_id = pa.array([10, 20, 30]), np.array([4, 5, 5], np.int32)
    batch = pack_buckets(ids, bucket_of_id, np.array([1, 0, 1]), np.array([7, 8], np.uint64))
    assert pings_by_user([batch]) == [(), (7,), (8,)]


def test_two_users_whose_hashes_collide_keep_k_pings_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounded as one person they would share k, and the removal of one would change what is kept of the other."""
    monkeypatch.setattr(counting, "hash_ids", lambda ids, _: np.zeros(len(ids), dtype=np.uint64))
    grid = Grid(Box(0, 0, 1, 1), 2, datetime(2020, 1, 1, tzinfo=UTC), 3600, 1)
    bounding = Sample(5, 2, KEY)
    start = int(grid.start.timestamp() * 1e6)
    times = pa.array([start + second * 1_000_000 for second in range(20)] * 2).cast(pa.timestamp("us", "UTC"))
    for ids in (pa.array(["anna"] * 20 + ["otto"] * 20), pa.array([1] * 20 + [2] * 20)):
        where = pa.array([0.1] * 20 + [0.6] * 20)
        pings = pa.RecordBatch.from_arrays([ids, where, where, times], names=["user_id", "lat", "lon", "ts"])
        bucketed = counting.build_bucket_task([grid], bounding, KEY, 256)([pings])
        counts = sum_packed(counting.build_count_task([grid], bounding)(bucketed), 4)
        assert counts[0].tolist() == [5, 0, 0, 5]


@pytest.mark.parametrize("worth", [0, 1 << 17], ids=["many", "few"])
@pytest.mark.parametrize("repeats", [1, 10], ids=["mostly distinct", "repeated"])
@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.string()], ids=str)
def test_every_id_is_found_once_and_pings_point_at_theirs(
    repeats: int, kind: pa.DataType, worth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(buckets, "_WORTH_AN_IMPORT", worth)
    plain = np.repeat(np.random.default_rng(0).permutation(120) - 50, repeats).tolist()
    users = pa.array(plain).cast(kind)
    ids, code = encode_ids(users)
    assert code.dtype == np.int32
    assert sorted(ids.to_pylist()) == sorted(set(users.to_pylist()))
    assert ids.take(pa.array(code)).to_pylist() == users.to_pylist()


def test_ids_are_the_same_in_workers_without_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(buckets, "_WORTH_AN_IMPORT", 0)
    users = pa.array([*np.random.default_rng(0).permutation(500).tolist(), 3, 3, 7], pa.int32())
    ids, code = encode_ids(users)
    monkeypatch.setitem(sys.modules, "pandas", None)  # as where it is missing: importing it fails
    others, other_code = encode_ids(users)
    assert others.equals(ids)
    assert np.array_equal(other_code, code)


def test_long_ids_make_small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow holds two gigabytes of text in one array."""
    monkeypatch.setattr(counting, "_ID_BYTES_PER_CHUNK", 1000)
    grid = Grid(Box(0, 0, 1, 1), 2, datetime(2020, 1, 1, tzinfo=UTC), 3600, 1)
    times = pa.array([int(grid.start.timestamp() * 1e6)] * 5).cast(pa.timestamp("us", "UTC"))
    where = pa.array([0.1] * 5)
    batch = pa.RecordBatch.from_arrays(
        [pa.array(["x" * 90] * 5), where, where, times], names=["user_id", "lat", "lon", "ts"]
    )
    assert [sum(map(len, chunk)) for chunk in counting._chunks([batch] * 5, [grid])] == [15, 10]


def test_hashes_differ_by_id_and_by_key() -> None:
    for ids in (pa.array(AWKWARD), pa.array([0, 1, -1, 2**63 - 1, -(2**63)])):
        first, second = hash_ids(ids, 1), hash_ids(ids, 2)
        assert len(np.unique(np.concatenate([first, second]))) == 2 * len(ids)


def test_ids_of_one_length_or_many_hash_alike() -> None:
    """A text's hash is its own, whatever stands beside it."""
    together = hash_ids(pa.array(AWKWARD), 5).tolist()
    assert together == [hash_ids(pa.array([text]), 5)[0] for text in AWKWARD]
    assert (
        hash_ids(pa.array(["no", *AWKWARD])[1:], 5).tolist() == together
    )  # a slice begins in the middle of its buffers


def test_a_hash_is_the_words_of_a_text_absorbed_one_by_one() -> None:
    for text in ("", "a", "12345678", "123456789", "x" * 255, "日本"):
        raw = text.encode()
        state = np.array([len(raw)], np.uint64)
        for at in range(0, len(raw), 8):
            state = absorb(state, np.frombuffer(raw[at : at + 8].ljust(8, b"\0"), "<u8"))
        assert hash_ids(pa.array([text, "another"]), 4)[0] == mix(state ^ np.uint64(4))[0]


def test_offsets_that_arrow_cannot_hold_are_never_wrapped() -> None:
    with pytest.raises(OverflowError):
        buckets._as_binary(np.empty(0, np.uint64), np.array([0, 2**28]))


def test_hashes_of_texts_fill_the_buckets_evenly() -> None:
    filled = hash_ids(pa.array([f"device-{number:06d}" for number in range(64_000)]), 3) % np.uint64(256)
    assert abs(np.bincount(filled.astype(int), minlength=256) - 250).max() < 6 * 250**0.5


def test_ids_of_any_width_hash_alike() -> None:
    assert (hash_ids(pa.array([3, -4], pa.int8()), 9) == hash_ids(pa.array([3, -4], pa.int64()), 9)).all()


@pytest.mark.parametrize("seed", ["0", "12345"])
def test_hashes_are_the_same_in_every_process(seed: str) -> None:
    """Python's own `hash` of text is not, and a user would be bounded once for each process."""
    program = (
        "import pyarrow as pa; from vdr_spark.collect.buckets import hash_ids; "
        f"print(hash_ids(pa.array({AWKWARD!a}), 77).tolist() + hash_ids(pa.array([5, -6]), 77).tolist())"
    )
    there = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    here = hash_ids(pa.array(AWKWARD), 77).tolist() + hash_ids(pa.array([5, -6]), 77).tolist()
    assert there.stdout.strip() == str(here)
