"""Ids that mean harm: users are told apart byte by byte, and nobody keeps more than k pings."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.adversarial_input.pings import BOUNDINGS, NO_NOISE, READERS, K, Small, collected, counted, places, write
from tests.plans import collect, grid_of
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.readers import read_pings
from vdr_spark.spark_versions import READS_WIDER

# Nothing of these is trimmed, folded or normalised: each of them is a user.
STRANGE_IDS = [
    *("a", "а", "A", "Ａ", "ä", "a\u0308", "å", "a\u030a", "Å", "K", "\u212a", "ß", "ss", "ﬀ", "ff", "I", "ı", "İ"),
    *("a\u200d", "a\u200b", "\u200fa", "a\u202e", "\ufeffa", "a\u0301\u0301", "👩\u200d👩", "👩👩", "\U0010ffff"),
    *("a ", " a", "a\t", "a\n", "a\r\n", "a\nb", "a\0", "a\0b", "\0", "a\x1fb", "a\x1e", "a,b", "a;b", "a|b", "a\x01b"),
    *('"a"', "'a'", '"', "'", "\\", "\\N", "`a`", "a\\,b", "", " ", "null", "NULL", "None", "NaN", "user_id"),
    *("1", "01", "1.0", "1e0", "+1", "-0", "0", "٣", "x'; DROP TABLE cells; --", "${jndi:ldap://example.invalid}"),
    *("x" * 20_000, "x" * 20_001, "x" * 19_999 + "y", "y" + "x" * 19_999, "x" * 256, "x" * 257),
]
BROKEN_UTF8 = [b"\xff", b"\xfe", b"\xc3", b"\xc3\x28", b"a\xff", b"\xed\xa0\x80", b"\xef\xbf\xbd"]


def text(ids: Sequence[str | bytes | None]) -> pa.Array:
    """As Parquet text, good UTF-8 or not."""
    letters = pa.array([value.encode() if isinstance(value, str) else value for value in ids], pa.binary())
    return pa.Array.from_buffers(pa.string(), len(letters), letters.buffers(), letters.null_count)


@pytest.mark.parametrize(
    ("reader", "bounding", "count"),
    [
        ("direct", "sample", collected),
        ("direct", "weight", counted),
        ("spark", "sample", counted),
        ("spark", "weight", counted),
    ],
)
def test_look_alikes_are_different_users(spark: SparkSession, small_config: Small, reader, bounding, count) -> None:
    """Each has nine pings in a cell of its own and keeps k of them: users taken for one would keep k together."""
    config = small_config(*NO_NOISE, f"input.reader={reader}", f"privacy.bounding={bounding}")
    ids = [*STRANGE_IDS, *BROKEN_UTF8, None]
    assert len({i.encode() if isinstance(i, str) else i for i in ids}) == len(ids)
    order = np.random.default_rng(1).permutation(np.repeat(np.arange(len(ids)), 9))
    for part, rows in enumerate(np.array_split(order, 2)):  # so that a user's pings lie in two files
        write(config, f"part{part}", user_id=text([ids[n] for n in rows]), **places(grid_of(config), rows))
    counts = count(spark, config)
    np.testing.assert_allclose(counts[: len(ids) - 1], K, atol=1e-4)
    assert counts.max() <= K
    assert not counts[len(ids) - 1 :].any()  # pings of nobody are left out: nobody's share could be bounded


def test_look_alikes_in_text_files(spark: SparkSession, small_config: Small) -> None:
    """But for what a line of text cannot say: empty is nobody, and a line break ends a row."""
    config = small_config(*NO_NOISE, "input.format=csv", "input.columns={user_id: device}")
    ids = [name for name in STRANGE_IDS if name and not set(name) & set("\r\n\0")]
    where = places(grid_of(config), range(len(ids)))
    Path(config.input.path).mkdir()
    with open(f"{config.input.path}/part.csv", "w", newline="", encoding="utf-8") as file:
        lines = csv.writer(file, quoting=csv.QUOTE_ALL, doublequote=False, escapechar="\\")
        lines.writerow(["device", "lat", "lon", "ts"])
        for row in zip(ids, *(where[name].to_pylist() for name in ("lat", "lon", "ts")), strict=True):
            lines.writerows([row] * 9)
    np.testing.assert_array_equal(counted(spark, config)[: len(ids)], K)


@pytest.mark.parametrize("reader", READERS)
def test_the_same_number_is_the_same_user_whatever_it_is_kept_in(
    spark: SparkSession, small_config: Small, reader: str
) -> None:
    config = small_config(*NO_NOISE, f"input.reader={reader}")
    shared, extremes = [-(2**31), -1, 0, 1, 2**31 - 1], [-(2**63), -(2**63) + 1, 2**63 - 1, 2**32, 2**31]
    ids = [*shared, *extremes]
    four_each = np.repeat(np.arange(len(ids)), 4)
    write(config, "a", user_id=pa.array(np.repeat(ids, 4)), **places(grid_of(config), four_each))
    four_each = np.repeat(np.arange(len(shared)), 4)
    short = pa.int32() if READS_WIDER else pa.int64()
    write(config, "b", user_id=pa.array(np.repeat(shared, 4), short), **places(grid_of(config), four_each))
    np.testing.assert_array_equal(counted(spark, config)[: len(ids)], [K] * len(shared) + [4] * len(extremes))


def test_numbers_without_a_sign(spark: SparkSession, small_config: Small) -> None:
    config = small_config(*NO_NOISE)
    ids = pa.array(np.repeat([0, 1, 2**31, 2**32 - 1], 9), pa.uint32())
    write(config, user_id=ids, **places(grid_of(config), np.repeat(range(4), 9)))
    np.testing.assert_array_equal(counted(spark, config)[:4], K)


def test_ids_of_mixed_type_are_refused(spark: SparkSession, small_config: Small) -> None:
    """Is the number 1 the user `1`, or `01`? Nothing is guessed, and no id is told."""
    config = small_config(*NO_NOISE)
    write(config, "a", user_id=pa.array([918273645]), **places(grid_of(config), [1]))
    write(config, "b", user_id=pa.array(["918273645"]), **places(grid_of(config), [2]))
    with pytest.raises(InvalidInput, match="other types than the other files'") as refusal:
        collect(spark, config)
    assert "918273645" not in str(refusal.value)


@pytest.mark.parametrize(
    "ids",
    [
        pa.array([1.5, float("nan")]),
        pa.array([b"\xff", b"a"]),
        pa.array([2**64 - 1, 1], pa.uint64()),
        pa.array([True, False]),
        pa.array([["a"], ["b"]]),
        pa.array([{"id": 1}, {"id": 2}]),
    ],
    ids=lambda ids: str(ids.type),
)
def test_ids_that_are_neither_text_nor_whole_numbers_are_refused(
    spark: SparkSession, small_config: Small, ids: pa.Array
) -> None:
    config = small_config()
    write(config, user_id=ids, **places(grid_of(config), [1, 2]))
    with pytest.raises(InvalidInput, match="must be a string or an integer"):
        read_pings(spark, config.input)


@pytest.mark.parametrize(("bounding", "count"), [("sample", collected), ("weight", counted)])
def test_a_million_pings_of_one_user_and_a_million_users_of_one_ping(
    spark: SparkSession, small_config: Small, bounding, count
) -> None:
    config = small_config(*NO_NOISE, f"privacy.bounding={bounding}", "privacy.total_pings=2e6")
    million = np.arange(1_000_000)
    theirs, hers = million % 1021, 1024 + million % 1024
    write(config, "many", user_id=pa.array(million).cast(pa.string()), **places(grid_of(config), theirs))
    write(config, "one", user_id=pa.array(["only"]).take(pa.array(0 * million)), **places(grid_of(config), hers))
    counts = count(spark, config)
    np.testing.assert_array_equal(counts[:1021], np.bincount(theirs))
    unit = config.privacy.units_per_ping
    weighted = 1_000_000 * (K * unit // 1_000_000) / unit  # rounded down, ping by ping
    assert counts[1024:].sum() == (weighted if bounding == "weight" else K)


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_not_one_ping_differs_from_another(spark: SparkSession, small_config: Small, bounding: str) -> None:
    config = small_config(*NO_NOISE, f"privacy.bounding={bounding}")
    same = pa.array(np.zeros(200_000, int))
    where = {name: column.take(same) for name, column in places(grid_of(config), [77]).items()}
    write(config, user_id=pa.array([""]).take(same), **where)
    counts = counted(spark, config)
    assert counts[77] == counts.sum()
    assert K - 1 < counts[77] <= K
