"""Some of many slices, and all but one: the rate in other slices, against a regression written out."""

import numpy as np
import pytest

from vdr_spark.denoise.statistics.subsets import LeaveOneOut, evenly_spaced


def test_rate_and_weight_are_those_of_least_squares_without_the_slice() -> None:
    rng = np.random.default_rng(0)
    noisy, activity = rng.normal(5, 3, (6, 3, 4)).astype(np.float32), rng.uniform(0.2, 2, 6)
    others = LeaveOneOut(noisy, activity)
    rest = [0, 1, 3, 4, 5]
    expected, *_ = np.linalg.lstsq(activity[rest, None], noisy[rest].reshape(5, 12), rcond=None)
    np.testing.assert_allclose(others.rate(2).ravel(), expected[0], rtol=1e-4)
    assert others.weight(2) == pytest.approx((activity[rest] ** 2).sum())


@pytest.mark.parametrize(
    ("slices", "most", "expected"), [(1, 5, [0]), (4, 9, [0, 1, 2, 3]), (9, 3, [0, 4, 8]), (100, 2, [0, 99])]
)
def test_evenly_spaced(slices: int, most: int, expected: list[int]) -> None:
    assert evenly_spaced(slices, most) == expected
