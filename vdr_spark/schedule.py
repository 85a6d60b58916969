"""Budget schedules: what each window of a series may cost, so that the budget lasts. Pure, in exact fractions.

* `yearly`: all windows of one year cost at most a cap together, each the same: the cap over the largest number of
  windows that a year can have. After n years the sum is at most n caps.
* `geometric`: each window costs a ratio of the one before. The sum over all time, however long it goes on, stays below
  a cap: cap * (1 - ratio) * (1 + ratio + ratio^2 + ...) = cap. Prices are rounded down to 10^-9, so it stays below.
* `weekly`: all that is published of one week costs at most a cap together, for whoever is protected as a *user-week*.
  The sum over all weeks, which protects a person, has no limit but the ledger's.

A part of each price may be kept back for one correction of the window, so that no cap is exceeded by it.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from fractions import Fraction
from itertools import count as count_from
from itertools import islice

from vdr_spark.conversion import describe_price
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Price
from vdr_spark.windows import Calendar, Window

_QUANTUM = 10**9  # prices of a geometric schedule are multiples of 1 / this
_FAR = 10_000  # windows that are looked ahead: 27 years of days
_WEEK = 7  # days


class Kind(StrEnum):
    """How a budget is spread over windows."""

    YEARLY = "yearly"
    GEOMETRIC = "geometric"
    WEEKLY = "weekly"


@dataclass(frozen=True)
class Lasting:
    """Until when an amount lasts: the last window that it pays for."""

    windows: int
    last: Window | None  # None where it pays for none, or where there is no last one
    for_ever: bool = False

    def __str__(self) -> str:
        if self.for_ever:
            return "pays for all windows that are still to come"
        if self.last is None:
            return "pays for no further window"
        if self.windows >= _FAR:
            return f"pays for {_FAR:,} further windows and more, beyond {self.last.name}"
        return f"pays for {self.windows} further window{'s' * (self.windows != 1)}, until {self.last.name}"


@dataclass(frozen=True)
class Schedule:
    """What the windows of a calendar may cost."""

    kind: Kind
    cap: Price  # of a year, of all time, or of a week
    calendar: Calendar
    ratio: Fraction = Fraction(1)  # of a geometric one
    correction_share: Fraction = Fraction(0)  # of each price, that is kept back for a correction
    skipped: frozenset[int] = frozenset()  # numbers of windows that are never released, and cost nothing

    def allowed(self, window: Window) -> Price:
        """Return what a window may cost with its correction; refused where a geometric schedule has come to its end."""
        amount = self._amount(window.number)
        if amount == 0:
            raise InvalidConfig(
                f"series.schedule has come to its end: window {window.name} would cost less than 1/{_QUANTUM} of "
                f"{self.cap.currency}. Begin another series, by another `name`, for which people grant a budget anew"
            )
        return Price(amount, self.cap.currency)

    def price(self, window: Window) -> Price:
        """Return what the release of a window costs."""
        return self.allowed(window).share(1 - self.correction_share)

    def correction_price(self, window: Window) -> Price:
        """Return what a correction of a window costs: all that was kept back for it."""
        return self.allowed(window).share(self.correction_share)

    def _amount(self, number: int) -> Fraction:
        if self.kind is Kind.YEARLY:
            return self.cap.amount / self.calendar.most_in_a_year
        if self.kind is Kind.WEEKLY:
            return self.cap.amount * self.calendar.length / _WEEK
        exact = self.cap.amount * (1 - self.ratio) * self.ratio**number
        return Fraction(math.floor(exact * _QUANTUM), _QUANTUM)

    @property
    def opening(self) -> Price:
        """What a dataset is opened with where nobody says otherwise: all of it, or what the first year costs."""
        if self.kind is Kind.WEEKLY:
            return Price(self._amount(0) * self.calendar.most_in_a_year, self.cap.currency)
        return self.cap

    def together(self, window: Window) -> list[Window]:
        """Return the windows that share a cap with one; none where the cap is of all time, which the ledger holds."""
        if self.kind is Kind.YEARLY:
            return self.calendar.same_year(window)
        return self.calendar.same_week(window) if self.kind is Kind.WEEKLY else []

    @property
    def cap_in_words(self) -> str:
        """What the cap is of."""
        return {Kind.YEARLY: "one year", Kind.GEOMETRIC: "all time", Kind.WEEKLY: "one user-week"}[self.kind]

    def lasts(self, amount: Fraction, first: int = 0) -> Lasting:
        """Return until when an amount lasts that pays for windows from a number on, without their corrections."""
        if self.kind is not Kind.GEOMETRIC:
            count = math.floor(amount / (self._amount(first) * (1 - self.correction_share)))
        elif amount >= self.cap.amount * (1 - self.ratio) * self.ratio**first * self._sum(first, 1):
            # All that is still to come, corrections too.
            return Lasting(0, None, for_ever=True)
        else:
            count = self._count_geometric(amount, first)
        return self._last_of(count, first)

    def _count_geometric(self, amount: Fraction, first: int, power: int = 1) -> int:
        """Return how many windows an amount pays for that cost a power of their price, times a constant."""
        price = (self.cap.amount * (1 - self.ratio) * self.ratio**first * (1 - self.correction_share)) ** power
        looked_at = range(1, _FAR + len(self.skipped) + 1)
        # The sum in closed form, and halving: added up window by window, its fractions take minutes.
        passed = bisect_left(looked_at, True, key=lambda windows: price * self._sum(first, power, windows) > amount)
        return passed - sum(first <= number < first + passed for number in self.skipped)

    def _sum(self, first: int, power: int, windows: int | None = None) -> Fraction:
        """Return what so many windows cost from a number on, or all, in units of the first, prices to a power."""
        ratio = self.ratio**power
        whole = (1 if windows is None else 1 - ratio**windows) / (1 - ratio)
        skipped = (number - first for number in self.skipped if number >= first)
        return whole - sum((ratio**n for n in skipped if windows is None or n < windows), Fraction(0))

    def lasts_squared(self, rho: Fraction, first: int = 0) -> Lasting:
        """Return until when a budget in rho lasts for windows of pure epsilon, each of which takes epsilon^2 / 2."""
        price = self._amount(first) * (1 - self.correction_share)
        if self.kind is not Kind.GEOMETRIC:
            count = math.floor(2 * rho / price**2)
        elif 2 * rho >= price**2 * self._sum(first, 2):
            return Lasting(0, None, for_ever=True)
        else:
            count = self._count_geometric(2 * rho, first, power=2)
        return self._last_of(count, first)

    def _last_of(self, count: int, first: int) -> Lasting:
        """Return how far so many windows reach from a number on; calendars end, and nobody looks beyond."""
        in_calendar = (date.max - self.calendar.first).days // self.calendar.length - first - len(self.skipped) - 1
        count = min(count, _FAR, in_calendar)
        if count <= 0:
            return Lasting(0, None)
        numbers = (number for number in count_from(first) if number not in self.skipped)
        return Lasting(count, self.calendar.window(next(islice(numbers, count - 1, None))))

    def meaning(self, delta: Fraction | None = None) -> str:
        """Say what the promise means over the whole series; an epsilon is told for rho at a delta."""
        cap, year = describe_price(self.cap, delta), self._describe_year(delta)
        if self.kind is Kind.GEOMETRIC:
            return (
                f"All windows of the series together, however many there will ever be, cost at most {cap}: that "
                "protects a person who is in all of them, with all that they did in all of them."
            )
        if self.kind is Kind.YEARLY:
            return (
                f"The windows of one year cost at most {cap} together, and that protects a person with all that they "
                f"did in that year. Years add up: ten of them cost at most {self._of_years(10, delta)}, and nothing "
                "less protects a person who is in all of them."
            )
        return (
            f"All that is published of one week costs at most {cap} for a user-week: it protects what a person did in "
            f"that week. It does not protect a person over several weeks: those add up, a year of them to {year}, and "
            "nothing less protects a person who is in all of them."
        )

    def _describe_year(self, delta: Fraction | None) -> str:
        amount = self._amount(0) * self.calendar.most_in_a_year
        return describe_price(Price(amount, self.cap.currency), delta)

    def _of_years(self, years: int, delta: Fraction | None) -> str:
        return describe_price(Price(self.cap.amount * years, self.cap.currency), delta)
