"""The windows of a series: stretches of equal length by a calendar, one after the other, that never overlap.

A window begins at midnight of its zone and has whole days. It is known by its name, `2020-W05` where it begins on a
Monday and has whole weeks, else by its first day, `2020-01-06`. Which windows there are follows from settings and the
clock alone: were it taken from the pings, one person's phone with a wrong clock could close a window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vdr_spark.errors import InvalidConfig

_WEEK = 7  # days
_ISO_YEAR, _YEAR = 371, 366  # days of the longest


@dataclass(frozen=True)
class Window:
    """One window of a series."""

    number: int  # the first is 0
    name: str
    start: datetime  # UTC
    end: datetime  # UTC, not part of it
    days: tuple[date, date]  # the first, and the first after it, by its calendar

    @property
    def year(self) -> int:
        """The year that its name begins with: of its ISO week, or of its first day."""
        return int(self.name[:4])

    @property
    def weeks(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Year and number of the first and the last ISO week that it touches."""
        last = self.days[1] - timedelta(days=1)
        return self.days[0].isocalendar()[:2], last.isocalendar()[:2]

    @property
    def slug(self) -> str:
        """Its name as it may stand in the name of a release."""
        return self.name.lower()


@dataclass(frozen=True)
class Calendar:
    """Which windows a series has."""

    first: date
    length: int  # days
    zone: str
    late: timedelta = timedelta(0)  # how long after a window's end its pings may come

    @property
    def counts_weeks(self) -> bool:
        """Whether windows are called by ISO weeks."""
        return self.length % _WEEK == 0 and self.first.isoweekday() == 1

    @property
    def most_in_a_year(self) -> int:
        """The largest number of windows whose names begin with one year."""
        return -(-(_ISO_YEAR if self.counts_weeks else _YEAR) // self.length)

    def window(self, number: int) -> Window:
        """Return the window of a number, the first being 0."""
        first = self.first + timedelta(days=self.length * number)
        after = first + timedelta(days=self.length)
        return Window(number, self._name(first), self._midnight(first), self._midnight(after), (first, after))

    def windows(self, first: int = 0) -> Iterator[Window]:
        """Yield windows in order, without end."""
        while True:
            yield self.window(first)
            first += 1

    def containing(self, day: date) -> Window:
        """Return the window that holds a day of its calendar; its number is negative before the first."""
        return self.window((day - self.first).days // self.length)

    def due_at(self, window: Window) -> datetime:
        """Return when a window's time has passed, and the time in which its pings may still come, in its zone."""
        return (window.end + self.late).astimezone(ZoneInfo(self.zone))

    def is_due(self, window: Window, now: datetime) -> bool:
        """Whether that moment has come."""
        return now >= window.end + self.late

    def due(self, now: datetime) -> list[Window]:
        """Return all windows that are due at a moment, in order."""
        found: list[Window] = []
        for window in self.windows():
            if not self.is_due(window, now):
                return found
            found.append(window)
        raise AssertionError("windows have no end")

    def named(self, name: str) -> Window:
        """Return the window of a name, or say which one is meant."""
        day = _parse_name(name)
        window = self.containing(day)
        if window.number < 0:
            raise InvalidConfig(
                f"window must not lie before the first of the series, {self.window(0).name}, which begins on "
                f"{self.first}; received {name}"
            )
        if window.name != name.upper():
            raise InvalidConfig(
                f"window must be the name of one, and {name} lies in {window.name} ({window.days[0]} to "
                f"{window.days[1]}, which is not part of it); give that"
            )
        return window

    def has(self, name: str) -> bool:
        """Whether there is a window of that name."""
        try:
            return bool(self.named(name))
        except InvalidConfig:
            return False

    def same_year(self, window: Window) -> list[Window]:
        """Return the windows of the series whose names begin with the same year, in order."""
        before = range(max(0, window.number - self.most_in_a_year), window.number + self.most_in_a_year + 1)
        return [other for number in before if (other := self.window(number)).year == window.year]

    def same_week(self, window: Window) -> list[Window]:
        """Return the windows of the series that lie in the ISO week in which this one begins, in order."""
        numbers = range(max(0, window.number - _WEEK), window.number + _WEEK + 1)
        return [other for number in numbers if (other := self.window(number)).weeks[0] == window.weeks[0]]

    def _name(self, first: date) -> str:
        if not self.counts_weeks:
            return first.isoformat()
        year, week, _ = first.isocalendar()
        return f"{year}-W{week:02}"

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), ZoneInfo(self.zone)).astimezone(UTC)


def _parse_name(name: str) -> date:
    """Return the first day that a name of a window speaks of."""
    try:
        if match := re.fullmatch(r"(\d{4})-[Ww](\d{2})", name):
            return _first_day_of_week(int(match[1]), int(match[2]))
        if re.fullmatch(r"\d{4}-\d{2}-\d{2}", name):
            return date.fromisoformat(name)
    except ValueError:
        pass
    raise InvalidConfig(f"window must be a week such as 2020-W05 or a day such as 2020-01-06, not {name!r}")


def _first_day_of_week(year: int, week: int) -> date:
    weeks = date(year, 12, 28).isocalendar().week  # that day is always in the last one
    if not 1 <= week <= weeks:
        raise InvalidConfig(f"window must be a week that there is, and {year} has {weeks}; received {year}-W{week:02}")
    return date.fromisocalendar(year, week, 1)
