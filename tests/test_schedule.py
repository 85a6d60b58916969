"""Schedules keep their caps to the last digit, whatever windows there are."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Currency, Price
from vdr_spark.schedule import Kind, Schedule
from vdr_spark.windows import Calendar

WEEKS = Calendar(date(2020, 1, 6), 7, "UTC")
DAYS = Calendar(date(2020, 1, 6), 1, "UTC")
amounts = st.fractions(min_value=Fraction(1, 1000), max_value=100, max_denominator=1000)
calendars = st.builds(
    Calendar, st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.sampled_from([1, 3, 7, 28]), st.just("UTC")
)


@given(calendars, amounts, st.sampled_from(Currency), st.fractions(0, Fraction(9, 10), max_denominator=10))
def test_a_yearly_cap_is_never_exceeded(
    calendar: Calendar, cap: Fraction, currency: Currency, kept_back: Fraction
) -> None:
    schedule = Schedule(Kind.YEARLY, Price(cap, currency), calendar, correction_share=kept_back)
    spent: dict[int, Fraction] = {}
    for window in islice(calendar.windows(), 2 * calendar.most_in_a_year):
        both = schedule.price(window).amount + schedule.correction_price(window).amount
        spent[window.year] = spent.get(window.year, Fraction(0)) + both
    assert max(spent.values()) <= cap


@given(amounts, st.fractions(Fraction(1, 10), Fraction(99, 100), max_denominator=100), st.integers(1, 300))
def test_a_geometric_sum_stays_below_its_cap(cap: Fraction, ratio: Fraction, windows: int) -> None:
    schedule = Schedule(Kind.GEOMETRIC, Price.epsilon(cap), WEEKS, ratio)
    prices = [schedule._amount(number) for number in range(windows)]
    assert sum(prices) <= cap
    assert prices == sorted(prices, reverse=True)
    assert all(price.denominator <= 10**9 for price in prices)


def test_a_geometric_schedule_comes_to_an_end_in_words() -> None:
    schedule = Schedule(Kind.GEOMETRIC, Price.epsilon(1), WEEKS, Fraction(1, 10))
    with pytest.raises(InvalidConfig, match=r"has come to its end: window 2020-W1"):
        schedule.price(WEEKS.window(10))


def test_days_share_the_cap_of_a_week() -> None:
    schedule = Schedule(Kind.WEEKLY, Price.rho("1/10"), DAYS)
    assert schedule.price(DAYS.window(0)) == Price.rho("1/70")
    assert len(schedule.together(DAYS.window(2))) == 7
    assert Schedule(Kind.WEEKLY, Price.epsilon(1), WEEKS).price(WEEKS.window(0)) == Price.epsilon(1)


def test_a_correction_is_paid_by_what_was_kept_back() -> None:
    schedule = Schedule(Kind.WEEKLY, Price.epsilon(1), WEEKS, correction_share=Fraction(1, 4))
    window = WEEKS.window(0)
    assert schedule.price(window) == Price.epsilon("3/4")
    assert schedule.correction_price(window) == Price.epsilon("1/4")


def test_until_when_a_budget_lasts() -> None:
    yearly = Schedule(Kind.YEARLY, Price.epsilon(53), WEEKS)
    lasting = yearly.lasts(Fraction(53))
    assert lasting.windows == 53
    assert lasting.last is not None
    assert lasting.last.name == "2021-W01"
    assert yearly.lasts(Fraction(1, 2)).last is None
    assert yearly.lasts(Fraction(2), first=10).last == WEEKS.window(11)


def test_a_geometric_budget_lasts_for_ever_or_says_until_when() -> None:
    schedule = Schedule(Kind.GEOMETRIC, Price.epsilon(1), WEEKS, Fraction(1, 2))
    assert schedule.lasts(Fraction(1)).for_ever
    assert schedule.lasts(Fraction(1, 4), first=2).for_ever
    assert schedule.lasts(Fraction(3, 4)).windows == 2  # 1/2 and 1/4


def test_windows_that_are_skipped_cost_nothing() -> None:
    yearly = Schedule(Kind.YEARLY, Price.epsilon(53), WEEKS, skipped=frozenset({1}))
    assert yearly.lasts(Fraction(3)).last == WEEKS.window(3)
    halves = Schedule(Kind.GEOMETRIC, Price.epsilon(1), WEEKS, Fraction(1, 2), skipped=frozenset({1}))
    found = halves.lasts(Fraction(5, 8))  # 1/2, nothing, 1/8
    assert (found.windows, found.last) == (2, WEEKS.window(2))


@given(st.fractions(Fraction(1, 10), Fraction(9, 10), max_denominator=10), amounts, st.integers(0, 20))
def test_how_many_windows_a_sum_in_closed_form_pays_for(ratio: Fraction, cap: Fraction, first: int) -> None:
    schedule = Schedule(Kind.GEOMETRIC, Price.epsilon(cap), WEEKS, ratio, skipped=frozenset({first + 2}))
    left = cap * ratio**first * Fraction(4, 5)
    prices = [cap * (1 - ratio) * ratio**number for number in range(first, first + 60) if number != first + 2]
    paid = sum(sum(prices[: count + 1]) <= left for count in range(len(prices)))
    found = schedule.lasts(left, first)
    assert (found.for_ever, found.windows) == ((True, 0) if paid == len(prices) else (False, paid))


def test_a_budget_that_lasts_longer_than_calendars_is_told_at_once() -> None:
    slow = Schedule(Kind.GEOMETRIC, Price.epsilon(1), DAYS, Fraction(9999, 10000))
    assert str(slow.lasts(Fraction(9, 10))) == "pays for 10,000 further windows and more, beyond 2047-05-23"
    cheap = Schedule(Kind.YEARLY, Price.epsilon(Fraction(1, 10**9)), WEEKS)
    assert "windows and more, beyond 2211-W" in str(cheap.lasts(Fraction(10)))
    years = Schedule(Kind.YEARLY, Price.epsilon(1), Calendar(date(2020, 1, 6), 366, "UTC"))
    assert years.lasts(Fraction(10**9)).last is not None


@pytest.mark.parametrize("kind", Kind)
def test_what_a_series_means_names_its_cap_and_unit(kind: Kind) -> None:
    words = Schedule(kind, Price.rho("1/10"), WEEKS, Fraction(9, 10)).meaning(Fraction(1, 10**9))
    assert "rho 1/10, which is epsilon" in words
    assert ("user-week" in words) == (kind is Kind.WEEKLY)
    assert ("however many" in words) == (kind is Kind.GEOMETRIC)
