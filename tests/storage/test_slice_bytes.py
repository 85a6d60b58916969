"""Slices as bytes: every integer comes back, at the narrowest width, and Spark's own reading agrees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vdr_spark.storage.slice_bytes import decode_counts, decode_slices, encode_slice

WHOLE = arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**63), 2**63 - 1))


@given(counts=WHOLE)
def test_every_integer_comes_back(counts: np.ndarray) -> None:
    batch = encode_slice(3, counts)
    (found,) = decode_slices(batch)
    assert batch.column("slice").to_pylist() == [3]
    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, counts)


@pytest.mark.parametrize(
    ("extreme", "width"),
    [
        (0, 2),
        (2**15 - 1, 2),
        (-(2**15), 2),
        (2**15, 4),
        (-(2**15) - 1, 4),
        (2**31 - 1, 4),
        (2**31, 8),
        (-(2**31) - 1, 8),
    ],
)
def test_the_width_is_the_narrowest_that_holds_all(extreme: int, width: int) -> None:
    batch = encode_slice(0, np.array([1, extreme, -1]))
    assert batch.column("bytes_per_count").to_pylist() == [width]
    assert len(batch.column("counts")[0].as_py()) == 3 * width


def test_bytes_are_little_endian_whatever_the_machine() -> None:
    assert encode_slice(0, np.array([1, -2])).column("counts")[0].as_py() == b"\x01\x00\xfe\xff"
    np.testing.assert_array_equal(decode_counts(b"\x01\x00\x00\x00\xfe\xff\xff\xff", 4), [1, -2])


@pytest.mark.parametrize(("counts", "width"), [(b"abc", 2), (b"abcd", 3), (b"abcd", 0), (b"ab", -2)])
def test_what_is_no_slice_is_refused(counts: bytes, width: int) -> None:
    with pytest.raises(ValueError, match=r"width of|multiple of"):
        decode_counts(counts, width)
