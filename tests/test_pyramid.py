"""Which squares and days have sums of their own."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from vdr_spark.grid import Box, Grid
from vdr_spark.pyramid import Days, blocks_along, days_of, factors_of

CHICAGO = ZoneInfo("America/Chicago")


def grid_of(start: datetime, slice_hours: float, slices: int) -> Grid:
    return Grid(Box(0, 0, 1, 1), 8, start.astimezone(UTC), round(3600 * slice_hours), slices)


@pytest.mark.parametrize(
    ("side", "factors"),
    [(1, []), (2, []), (3, [2]), (16, [2, 4, 8]), (17, [2, 4, 8, 16]), (576, [2**n for n in range(1, 10)])],
)
def test_squares_double_until_one_would_hold_the_grid(side: int, factors: list[int]) -> None:
    assert factors_of(side) == factors
    assert all(blocks_along(side, factor) > 1 for factor in factors)


def test_days_are_the_zones_and_whole() -> None:
    start = datetime(2020, 1, 7, 3, tzinfo=CHICAGO)
    assert days_of(grid_of(start, 3, 30), CHICAGO) == [Days(7, 8, 2)]  # 21 hours before, 5 hours after
    assert days_of(grid_of(start, 3, 30), UTC) == [Days(5, 8, 3)]
    assert list(Days(7, 8, 2).starts()) == [7, 15]


def test_slices_that_do_not_meet_midnight_have_no_days() -> None:
    assert days_of(grid_of(datetime(2020, 1, 7, tzinfo=UTC), 5, 40), UTC) == []
    assert days_of(grid_of(datetime(2020, 1, 7, 1, tzinfo=UTC), 3, 40), UTC) == []
    assert days_of(grid_of(datetime(2020, 1, 7, tzinfo=UTC), 24, 4), UTC) == []  # a slice is a day


def test_a_change_of_clocks_makes_a_day_of_another_length() -> None:
    start = datetime(2020, 3, 6, tzinfo=CHICAGO)  # clocks change on the 8th
    assert days_of(grid_of(start, 1, 5 * 24 - 1), CHICAGO) == [Days(0, 24, 2), Days(48, 23, 1), Days(71, 24, 2)]
    assert days_of(grid_of(start, 3, 40), CHICAGO) == [Days(0, 8, 2)]  # afterwards slices miss midnight
