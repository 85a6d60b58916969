"""Windows follow each other without gap or overlap, whatever clocks do; names lead to them and to nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.errors import InvalidConfig
from vdr_spark.windows import Calendar

WEEKS = Calendar(date(2020, 1, 6), 7, "America/Chicago", timedelta(days=2))
DAYS = Calendar(date(2020, 1, 6), 1, "UTC")


@given(
    st.dates(date(1990, 1, 1), date(2090, 1, 1)),
    st.integers(1, 40),
    st.sampled_from(["UTC", "America/Chicago", "Europe/Berlin", "Asia/Beirut", "Australia/Lord_Howe"]),
    st.integers(0, 500),
)
def test_windows_touch_and_never_overlap(first: date, length: int, zone: str, number: int) -> None:
    calendar = Calendar(first, length, zone)
    for one, next_one in pairwise(islice(calendar.windows(number), 3)):
        assert one.end == next_one.start
        assert one.start < one.end
        assert calendar.named(one.name) == one


def test_weeks_are_called_by_iso_weeks_and_begin_at_local_midnight() -> None:
    window = WEEKS.window(3)
    assert (window.name, window.slug, window.year) == ("2020-W05", "2020-w05", 2020)
    assert window.start == datetime(2020, 1, 27, 6, tzinfo=UTC)
    assert WEEKS.named("2020-w05") == window


def test_the_week_of_a_change_of_clocks_is_an_hour_shorter() -> None:
    window = WEEKS.named("2020-W10")  # clocks go forward on 8 March
    assert window.end - window.start == timedelta(days=7) - timedelta(hours=1)


def test_the_first_week_of_a_year_may_begin_in_the_one_before() -> None:
    assert WEEKS.containing(date(2024, 12, 31)).name == "2025-W01"
    assert WEEKS.containing(date(2024, 12, 31)).year == 2025


def test_a_window_is_due_after_its_end_and_the_time_for_late_pings() -> None:
    end = WEEKS.window(0).end
    assert WEEKS.due(end + timedelta(days=2) - timedelta(seconds=1)) == []
    assert [window.name for window in WEEKS.due(end + timedelta(days=2))] == ["2020-W02"]
    assert len(DAYS.due(datetime(2021, 1, 6, tzinfo=UTC))) == 366


@pytest.mark.parametrize(
    ("calendar", "name", "words"),
    [
        (WEEKS, "2020-W01", "must not lie before the first of the series, 2020-W02"),
        (WEEKS, "2020-01-29", "lies in 2020-W05"),
        (Calendar(date(2020, 1, 6), 28, "UTC"), "2020-W03", "lies in 2020-W02"),
        (DAYS, "2020-W05", "lies in 2020-01-27"),
        (WEEKS, "2020-W54", "must be a week that there is, and 2020 has 53"),
        (WEEKS, "next", "must be a week such as"),
        (WEEKS, "2020-02-30", "must be a week such as"),
    ],
)
def test_what_is_no_window_is_told(calendar: Calendar, name: str, words: str) -> None:
    with pytest.raises(InvalidConfig, match=words):
        calendar.named(name)


@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.sampled_from([1, 3, 7, 28, 30]))
def test_no_year_has_more_windows_than_the_most(first: date, length: int) -> None:
    calendar = Calendar(first, length, "UTC")
    years = [window.year for window in islice(calendar.windows(), 3 * calendar.most_in_a_year)]
    assert max(years.count(year) for year in years) <= calendar.most_in_a_year


def test_windows_that_share_a_year_or_a_week() -> None:
    assert [w.name for w in DAYS.same_week(DAYS.named("2020-01-08"))] == [f"2020-01-{day:02}" for day in range(6, 13)]
    year = WEEKS.same_year(WEEKS.named("2020-W30"))
    assert (year[0].name, year[-1].name, len(year)) == ("2020-W02", "2020-W53", 52)


def test_a_year_has_52_or_53_weeks() -> None:
    calendar = Calendar(date(2020, 1, 6), 7, "UTC")
    assert calendar.named("2020-W53").name == "2020-W53"
    with pytest.raises(InvalidConfig, match="must be a week that there is, and 2021 has 52; received 2021-W53"):
        calendar.named("2021-W53")
