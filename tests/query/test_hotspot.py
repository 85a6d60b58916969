from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import METRES_PER_DEGREE, Box
from vdr_spark.query import nearest_hotspot

CELL = METRES_PER_DEGREE / 5  # metres, of a 5 x 5 grid over a degree at the equator


def layer(**cells: float) -> np.ndarray:
    """A 5 x 5 slice from `y1x4=7` style cells."""
    values = np.zeros((5, 5))
    for name, count in cells.items():
        values[int(name[1]), int(name[3])] = count
    return values


def test_takes_the_closest_cell_that_reaches_the_threshold(make_release) -> None:
    release = make_release([layer(), layer(y0x4=100, y2x3=10, y0x1=9)], deviation=np.full((2, 5, 5), 2.0))
    found = nearest_hotspot(release, 0.1, 0.1, 1, threshold=10)
    assert (found.row, found.column, found.slice) == (2, 3, 1)
    assert (found.lat, found.lon) == pytest.approx((0.5, 0.7))
    assert found.distance_m == pytest.approx(CELL * np.hypot(2, 3), rel=1e-4)
    assert (found.count, found.deviation, found.threshold) == (10, 2, 10)
    assert found.slice_start == datetime(2020, 1, 7, 3, tzinfo=UTC)


def test_the_own_cell_may_be_the_hot_spot(make_release) -> None:
    assert nearest_hotspot(make_release([layer(y0x0=5, y0x1=50)]), 0.19, 0.01, 0, threshold=5).distance_m == 0


def test_of_equally_near_cells_takes_the_larger_count(make_release) -> None:
    release = make_release([layer(y1x2=20, y2x1=21, y2x3=20, y3x2=20)])
    found = nearest_hotspot(release, 0.5, 0.5, 0, threshold=20)
    assert (found.row, found.column, found.count) == (2, 1, 21)


@pytest.mark.parametrize(("above", "beside"), [(30, 20), (20, 30)])
def test_rounding_does_not_break_a_tie(make_release, above: float, beside: float) -> None:
    release = make_release([layer(y3x2=above, y2x3=beside)], box=Box.around(29.76, -95.37, 1000))
    height, width = release.grid.cell_metres
    assert 0 < abs(height - width) < 1e-6  # a square in all but the last bits
    assert nearest_hotspot(release, 29.76, -95.37, 0, threshold=20).count == 30


def test_distance_is_metres_not_cells(make_release) -> None:
    # At 60 degrees north a degree of longitude is half as long: two columns are nearer than two rows.
    release = make_release([layer(y0x2=10, y2x0=99)], box=Box(59.5, 0, 60.5, 1))
    found = nearest_hotspot(release, 59.6, 0.1, 0, threshold=10)
    assert (found.row, found.column) == (0, 2)
    assert found.distance_m == pytest.approx(CELL, rel=1e-3)


def test_default_threshold_is_a_percentile_of_the_released_slice(make_release) -> None:
    counts = np.arange(2500, dtype=float).reshape(1, 50, 50)
    found = nearest_hotspot(make_release(counts), 0.0, 0.0, 0)
    assert found.threshold == pytest.approx(np.percentile(counts, 99.9))
    assert found.column == 47  # of the three cells that reach it, 2497 to 2499, the nearest one


def test_a_moment_means_its_slice(make_release) -> None:
    release = make_release([layer(y0x0=9), layer(y4x4=9)])
    moment = datetime(2020, 1, 7, 3, 0, tzinfo=UTC)
    assert nearest_hotspot(release, 0.5, 0.5, moment, threshold=9).row == 4
    assert nearest_hotspot(release, 0.5, 0.5, moment.replace(hour=2), threshold=9).row == 0


def test_refuses_with_the_largest_released_count(make_release) -> None:
    release = make_release([layer(y4x4=7.5)])
    with pytest.raises(InvalidQuery, match=r"threshold must be at most 7\.5, .* not 8; lower it"):
        nearest_hotspot(release, 0.1, 0.1, 0, threshold=8)
    with pytest.raises(InvalidQuery, match=r"within_m must be at least 1258\d\d .* not 100; .*count .* is 7\.5"):
        nearest_hotspot(release, 0.1, 0.1, 0, threshold=7, within_m=100)


def test_within_m_reaches_exactly_that_far(make_release) -> None:
    release = make_release([layer(y0x2=7)])
    metres = nearest_hotspot(release, 0.1, 0.1, 0, threshold=7).distance_m
    assert nearest_hotspot(release, 0.1, 0.1, 0, threshold=7, within_m=metres).column == 2
    with pytest.raises(InvalidQuery, match="within_m"):
        nearest_hotspot(release, 0.1, 0.1, 0, threshold=7, within_m=metres - 1)


def test_an_empty_slice_has_no_default_threshold(make_release) -> None:
    with pytest.raises(InvalidQuery, match="threshold must be given"):
        nearest_hotspot(make_release([layer()]), 0.1, 0.1, 0)


@pytest.mark.parametrize(
    ("place", "moment", "threshold", "words"),
    [
        ((1.5, 0.1), 0, 1, "lat must lie inside the release's box, .* not 1.5"),
        ((0.1, float("nan")), 0, 1, "lon must lie inside"),
        ((0.1, 0.1), 1, 1, r"moment must lie in .* \(slices 0 to 0\), not 1;"),
        ((0.1, 0.1), -1, 1, "moment must lie in"),
        ((0.1, 0.1), datetime(2020, 1, 7, 3, tzinfo=UTC), 1, "not 2020-01-07 03:00 UTC; choose"),
        ((0.1, 0.1), datetime(2020, 1, 7), 1, "moment must carry a time zone"),
        ((0.1, 0.1), 0, 0, "threshold must be a positive number of pings, not 0"),
    ],
)
def test_refuses_what_the_release_does_not_know(make_release, place, moment, threshold, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        nearest_hotspot(make_release([layer(y0x0=3)]), *place, moment, threshold)


def test_says_the_answer_in_a_sentence(make_release) -> None:
    sentence = nearest_hotspot(make_release([layer(y0x1=1500)]), 0.1, 0.1, 0, threshold=1000).sentence()
    assert sentence == (
        "The nearest hot spot is 22,238 m away at 0.10000, 0.30000: about 1,500 pings in the slice from "
        "2020-01-07 00:00 UTC; the threshold is 1,000."
    )
