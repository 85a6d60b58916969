import numpy as np
import pytest

from tests.explore.cities import city
from vdr_spark.errors import InvalidQuery
from vdr_spark.explore.payload import factors, pack, picture, unpack
from vdr_spark.release.pyramid_sums import sum_levels
from vdr_spark.rounding import round_counts
from vdr_spark.sum_errors import Spread, SumErrors, Total


def test_released_counts_arrive_to_their_last_digit() -> None:
    rng = np.random.default_rng(0)
    counts = round_counts(rng.gamma(0.5, 2000, (40, 40)).astype(np.float32)).astype(np.float64)
    counts = counts[counts >= 1][:900].reshape(30, 30)  # below 2^-14 half floats have fewer digits
    assert np.array_equal(unpack(pack(counts)), counts)


@pytest.mark.parametrize("largest", [0.0, 1e-3, 65_504.0, 65_600.0, 1e9, -1e9])
def test_any_range_fits(largest: float) -> None:
    layer = np.full((3, 3), largest)
    assert np.allclose(unpack(pack(layer)), layer, rtol=1e-3, atol=1e-7)


def test_rows_go_from_south_to_north_and_columns_from_west_to_east() -> None:
    layer = np.arange(4.0).reshape(2, 2)
    assert pack(layer)[16:] == np.array([0, 1, 2, 3], "<f2").tobytes()


def test_squares_have_the_pyramids_sums_and_error_bars() -> None:
    errors = SumErrors(3.0, (Spread(1, 1, 0.25, 3.0), Spread(4, 1, 0.4, 3.0)), 20.0, Total(1e6, 5.0))
    release = city(side=13, sum_errors=errors)
    level = next(level for level in sum_levels(release.counts, release.deviation, []) if level.factor == 4)
    assert np.array_equal(picture(release, 2, "count", 4), level.counts[2])
    whole = release.range_count(_square(release, 4), release.grid.slice_start(2), release.grid.slice_start(3))
    assert picture(release, 2, "deviation", 4)[0, 0] == pytest.approx(whole.deviation)
    assert picture(release, 2, "count", 4)[0, 0] == pytest.approx(whole.count)


def _square(release: object, cells: int) -> object:
    from vdr_spark.grid import Box

    box = release.grid.box  # type: ignore[attr-defined]
    share = cells / 13
    return Box(
        box.south, box.west, box.south + share * (box.north - box.south), box.west + share * (box.east - box.west)
    )


def test_a_large_grid_is_shown_in_squares_only() -> None:
    assert factors(576)[0] == 1
    assert factors(2048)[0] == 1
    assert factors(2049)[0] == 2
    assert factors(1) == [1]


def test_other_squares_are_refused() -> None:
    with pytest.raises(InvalidQuery, match="factor must be one of 1, 2, 4, 8"):
        picture(city(), 0, "count", 16)
