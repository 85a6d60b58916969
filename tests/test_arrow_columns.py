"""Numbers and bytes between NumPy and Arrow are what pyarrow itself makes of them, and pandas is never loaded."""

import subprocess
import sys
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from vdr_spark.arrow_columns import to_bytes_column, to_column, to_numbers, to_rows

WHAT_TASKS_DO = """
import sys
import numpy as np, pyarrow as pa
from vdr_spark.arrow_columns import to_bytes_column, to_column, to_numbers, to_rows
from vdr_spark.collect.buckets import encode_ids, hash_ids, pack_buckets, sort_by_bucket_and_user, unpack_buckets
from vdr_spark.collect.locate import locate
from vdr_spark.collect.packed_counts import pack_counts, sum_packed
from vdr_spark.collect.slice_digests import digest_slices
from vdr_spark.grid import Box, Grid
from vdr_spark.storage.slice_bytes import decode_slices, encode_slice
from datetime import UTC, datetime

grid = Grid(Box(0, 0, 1, 1), 4, datetime(1970, 1, 1, tzinfo=UTC), 1, 3600)
columns = [to_column(np.array([7, 7, 8, 7])), *(to_column(np.array([0.5, 0.1, 0.9, 5.0])) for _ in "ab")]
columns.append(to_column(np.array([1, 2, 3, 4])).view(pa.timestamp("us", "UTC")))
inside = locate(pa.RecordBatch.from_arrays(columns, names=["user_id", "lat", "lon", "ts"]), [grid])
assert len(inside) == 3
ids, code = encode_ids(inside.user)
bucket = (hash_ids(ids, 3) % np.uint64(2)).astype(np.int32)
order, sizes, packed = sort_by_bucket_and_user(bucket, code, inside.cell.astype(np.uint64))
batch = pack_buckets(ids.take(to_column(order)), bucket[order], sizes, packed)
assert sum(len(pings) for _, _, pings in unpack_buckets([batch])) == 3
assert sum_packed(pack_counts([(0, np.array([1, 3]), np.array([2, 5]))]), 4)[0].tolist() == [0, 2, 0, 5]
rows = [row for digest in digest_slices([encode_slice(0, np.arange(4))]) for row in to_rows(digest)]
assert rows[0]["total"] == 6 and len(rows[0]["sha256"]) == 64
print("pandas" in sys.modules)
"""


def test_what_tasks_do_loads_no_pandas() -> None:
    """Each of Spark's Python workers would pay a second for it."""
    told = subprocess.run([sys.executable, "-c", WHAT_TASKS_DO], capture_output=True, text=True, check=False)
    assert told.stdout.strip() == "False", told.stderr


@pytest.mark.parametrize("kind", [np.int32, np.int64, np.float32, np.float64])
def test_columns_are_pyarrows(kind: type[np.generic]) -> None:
    values = np.arange(7).astype(kind)
    for part in (values, values[::2], values[:0]):
        assert to_column(part).equals(pa.array(part))
        np.testing.assert_array_equal(to_numbers(to_column(part), kind), part)


def test_bytes_are_pyarrows() -> None:
    for values in ([b"one"], [b"", b"two", b"\x00\xff"], []):
        assert to_bytes_column(values).equals(pa.array(values, pa.binary()))


@pytest.mark.parametrize("start", [0, 3, 11])
def test_numbers_are_as_pyarrow_has_them_also_of_a_part(start: int) -> None:
    numbers = pa.array([None if n % 5 == 0 else n / 7 for n in range(30)]).slice(start, 13)
    np.testing.assert_array_equal(to_numbers(numbers, np.float64), numbers.to_numpy(zero_copy_only=False))
    whole = pa.array(range(30), pa.int64()).slice(start, 13)
    np.testing.assert_array_equal(to_numbers(whole, np.int32), np.arange(start, start + 13))
    np.testing.assert_array_equal(to_numbers(whole, np.float64), np.arange(start, start + 13.0))


def test_all_null_is_all_nan_and_no_integer() -> None:
    assert np.isnan(to_numbers(pa.nulls(9, pa.float64()), np.float64)).all()
    with pytest.raises(ValueError, match="must not hold nulls"):
        to_numbers(pa.nulls(9, pa.float64()), np.int32)


def test_moments_of_rows_are_in_utc_to_the_microsecond() -> None:
    moment = datetime(2020, 2, 29, 23, 59, 59, 999_999, tzinfo=UTC)
    before = datetime(1899, 12, 31, 1, 2, 3, 4, tzinfo=UTC)
    for zone in (None, "UTC", "America/Chicago"):
        kind = pa.timestamp("us", zone)
        values = (
            [moment.replace(tzinfo=None), before.replace(tzinfo=None), None] if zone is None else [moment, before, None]
        )
        batch = pa.RecordBatch.from_pydict({"at": pa.array(values, kind), "n": pa.array(["a", None, "c"])})
        assert to_rows(batch) == [{"at": moment, "n": "a"}, {"at": before, "n": None}, {"at": None, "n": "c"}]
