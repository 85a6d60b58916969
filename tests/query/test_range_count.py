from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query import range_count
from vdr_spark.sum_errors import Spread, SumErrors

MIDNIGHT = datetime(2020, 1, 7, tzinfo=UTC)
LAYERS = [[[1, 2], [3, 4]], [[10, 20], [30, 40]]]  # rows from the south


def hours(number: float) -> datetime:
    return MIDNIGHT + timedelta(hours=number)


@pytest.mark.parametrize(
    ("box", "start", "end", "count", "cells"),
    [
        (Box(0, 0, 1, 1), None, None, 110, 8),
        (Box(0, 0, 0.5, 0.5), None, None, 11, 2),  # the south-western cell
        (Box(0.5, 0, 1, 0.5), None, None, 33, 2),  # north of it
        (Box(0, 0.5, 0.5, 1), hours(3), None, 20, 1),  # east of it, the second slice
        (Box(0, 0, 1, 1), None, hours(3), 10, 4),
        (Box(0.25, 0, 0.5, 0.25), None, hours(3), 0.25, 1),  # a quarter of one cell
        (Box(0.25, 0.25, 0.75, 0.75), hours(3), hours(6), 25, 4),  # a quarter of each
        (Box(0, 0, 1, 1), hours(1.5), hours(4.5), 55, 8),  # half of both slices
    ],
)
def test_counts_by_covered_shares(make_release, box, start, end, count, cells) -> None:
    answer = range_count(make_release(LAYERS), box, start, end)
    assert answer.count == pytest.approx(count)
    assert answer.cells == cells
    assert answer.deviation is None


def test_matches_pings_of_a_large_grid_added_one_by_one(make_release) -> None:
    counts = np.random.default_rng(0).normal(5, 3, size=(3, 7, 7))
    box, start, end = Box(0.13, 0.2, 0.71, 0.93), hours(1), hours(7.5)
    expected = 0.0
    for t, y, x in np.ndindex(counts.shape):
        tall = max(0, min(box.north, (y + 1) / 7) - max(box.south, y / 7)) * 7
        wide = max(0, min(box.east, (x + 1) / 7) - max(box.west, x / 7)) * 7
        long = max(0, min(7.5, 3 * t + 3) - max(1, 3 * t)) / 3
        expected += counts[t, y, x] * tall * wide * long
    assert range_count(make_release(counts), box, start, end).count == pytest.approx(expected, rel=1e-5)


def test_deviation_adds_variances_of_covered_shares(make_release) -> None:
    release = make_release(LAYERS, deviation=[[[3, 4], [0, 0]], [[0, 0], [0, 0]]])
    assert range_count(release, Box(0, 0, 1, 1)).deviation == pytest.approx(5)
    half = range_count(release, Box(0, 0, 0.25, 1)).deviation  # half of both southern cells
    assert half == pytest.approx(2.5)
    assert range_count(release, Box(0, 0, 1, 1), None, hours(1.5)).deviation == pytest.approx(2.5)


def test_deviation_of_a_sum_is_that_of_its_size_where_the_release_knows_it(make_release) -> None:
    """Never less than what independent errors of the cells add up to."""
    errors = SumErrors(10.0, (Spread(1, 1, 0.5), Spread(2, 1, 0.5), Spread(1, 2, 2.0), Spread(2, 2, 2.0)))
    small, large = (make_release(LAYERS, deviation=np.full((2, 2, 2), of), sum_errors=errors) for of in (0.1, 20.0))
    everything = range_count(small, Box(0, 0, 1, 1))  # 110 pings in 8 cells of 2 slices
    assert everything.deviation == pytest.approx(errors.deviation(8, 2, 110.0, 8 * 0.01))
    assert everything.deviation > 3 * 0.1 * 8**0.5
    half = range_count(small, Box(0, 0, 0.5, 1), hours(3), hours(4.5))  # of the second slice; 30 pings in two cells
    assert half.deviation == pytest.approx(errors.deviation(1, 0.5, 15.0, 2 * 0.05**2))
    assert range_count(large, Box(0, 0, 1, 1)).deviation == pytest.approx(20 * 8**0.5)


def test_edges_of_the_release_may_be_off_by_rounding_only(make_release) -> None:
    release = make_release(LAYERS)
    whole = range_count(release, Box(-1e-10, -1e-10, 1 + 1e-10, 1 + 1e-10))
    assert whole.count == pytest.approx(110)
    with pytest.raises(InvalidQuery, match="north"):
        range_count(release, Box(0, 0, 1 + 1e-6, 1))


def test_an_answer_for_another_time_zone_is_the_same_moment(make_release) -> None:
    tokyo = timezone(timedelta(hours=9))
    answer = range_count(make_release(LAYERS), Box(0, 0, 1, 1), datetime(2020, 1, 7, 12, tzinfo=tokyo), None)
    assert answer.count == pytest.approx(100)
    assert answer.start == hours(3)
    assert answer.start.tzinfo is UTC


@pytest.mark.parametrize(
    ("box", "words"),
    [
        (
            Box(-0.5, 0, 0.5, 1),
            r"south must lie inside .* 0\.0+ to 1\.0+ degrees, not -0\.50+; .*shrink or move",
        ),
        (Box(0, 0, 0.5, 1.5), r"east must lie inside .* not 1\.50+"),
        (Box(5, 5, 6, 6), "south must lie inside"),
        (Box(0.5, 0, 0.5, 1), "south must be less than north, not 0.5"),
        (Box(0, 0.7, 1, 0.2), "west must be less than east"),
        (Box(0, float("nan"), 1, 1), "west must be a number of degrees, not nan"),
    ],
)
def test_refuses_a_box_that_the_release_does_not_cover(make_release, box: Box, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        range_count(make_release(LAYERS), box)


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (
            hours(-1),
            None,
            "start must lie in the release's period, .* not 2020-01-06 23:00 UTC; move it inside",
        ),
        (
            None,
            hours(7),
            "end must lie in .* 2020-01-07 00:00 UTC to 2020-01-07 06:00 UTC, not 2020-01-07 07:00",
        ),
        (hours(4), hours(4), "start must come before end"),
        (datetime(2020, 1, 7, 3), None, "start must carry a time zone, not 2020-01-07 03:00:00 without one"),
    ],
)
def test_refuses_a_period_that_the_release_does_not_cover(make_release, start, end, words: str) -> None:
    with pytest.raises(InvalidQuery, match=words):
        range_count(make_release(LAYERS), Box(0, 0, 1, 1), start, end)


def test_says_the_answer_in_a_sentence(make_release) -> None:
    release = make_release([[[1234, 0], [0, 0]]], deviation=[[[56, 0], [0, 0]]])
    answer = range_count(release, Box(0, 0, 0.5, 0.5))
    assert answer.sentence() == (
        "About 1,234 pings (± 56, one standard deviation) between 2020-01-07 00:00 UTC and "
        "2020-01-07 03:00 UTC in a box of 55.6 km x 55.6 km."
    )
    assert answer.area_km2 == pytest.approx(55.6**2, rel=0.01)
    small = range_count(make_release([[[4, 0], [0, 0]]], box=Box(0, 0, 0.01, 0.01)), Box(0, 0, 0.005, 0.01))
    assert small.sentence().startswith("About 4 pings between")
    assert small.sentence().endswith("in a box of 1.1 km x 556 m.")
