"""Some of many slices."""

import pytest

from vdr_spark.denoise.estimation.evenly_spaced import spread_slices


@pytest.mark.parametrize(
    ("slices", "most", "expected"), [(1, 5, [0]), (4, 9, [0, 1, 2, 3]), (9, 3, [0, 4, 8]), (100, 2, [0, 99])]
)
def test_evenly_spread(slices: int, most: int, expected: list[int]) -> None:
    assert spread_slices(slices, most) == expected
