"""Where a series stands: what is published, due or missing, what was spent, and until when the rest lasts.

Worked out from the configuration, the ledger, the register and the clock; no ping is read. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import CORRECTION, another_window, name_window
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import Plan, make_plan
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.accounting import Account, balance, price_of_unbooked
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.schedule import Lasting, Schedule
from vdr_spark.windows import Calendar, Window


class Stand(StrEnum):
    """How far a window is."""

    PUBLISHED = "published"
    WITHDRAWN = "withdrawn"  # published, and not to be used any more
    UNFINISHED = "unfinished"  # booked in the ledger, and not published
    MISSING = "missing"  # due, never booked, and later ones are
    DUE = "due"
    SKIPPED = "skipped"
    OPEN = "open"  # its time has not passed, or its pings may still come


@dataclass(frozen=True)
class WindowStatus:
    """One window of a series, as the ledger and the register have it."""

    window: Window
    stand: Stand
    draw_ids: tuple[str, ...]  # of cells, that are booked under its name; corrections are not among them
    correction: Stand | None  # of a correction of it; None: there is none
    spent: Fraction  # reserved or spent by it and its correction, in the budget's currency

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "window": self.window.name,
            "start": self.window.start.isoformat(),
            "end": self.window.end.isoformat(),
            "state": self.stand.value,
            "draws": list(self.draw_ids),
            "correction": self.correction and self.correction.value,
            "spent": str(self.spent),
        }


@dataclass(frozen=True)
class SeriesStatus:
    """A series at a moment: every window that is due, and the one that is open."""

    config: ReleaseConfig  # of any window
    schedule: Schedule
    windows: tuple[WindowStatus, ...]  # the last of them is open
    account: Account  # as it stands, or as it would be opened
    now: datetime
    strays: tuple[str, ...] = ()  # draws that are booked under its name, for windows that its settings do not have

    @property
    def name(self) -> str:
        assert self.config.series is not None
        return str(self.config.series.name)

    def listed(self, *stands: Stand) -> list[WindowStatus]:
        """Return the windows that stand so, in order."""
        return [window for window in self.windows if window.stand in stands]

    @property
    def unpublished(self) -> list[WindowStatus]:
        """What is due and not done, in order."""
        return self.listed(Stand.UNFINISHED, Stand.MISSING, Stand.DUE)

    @property
    def coming(self) -> tuple[Window, datetime]:
        """The first window that is not due yet and will be released, and when it is due, in the series' zone."""
        calendar = self.schedule.calendar
        windows = calendar.windows(len(self.windows) - 1)
        window = next(one for one in windows if one.number not in self.schedule.skipped)
        return window, calendar.due_at(window)

    def find(self, name: str) -> WindowStatus:
        """Return a window by its name; one that is not due is open."""
        window = self.schedule.calendar.named(name)
        if window.number < len(self.windows):
            return self.windows[window.number]
        return WindowStatus(window, Stand.OPEN, (), None, Fraction(0))

    @property
    def spent(self) -> Fraction:
        """What the windows of the series have reserved or spent; the account may hold other releases."""
        return sum((window.spent for window in self.windows), Fraction(0))

    @property
    def lasting(self) -> Lasting:
        """Until when what is left lasts, beginning with the first window that is not booked."""
        free = (w.window.number for w in self.windows if not w.draw_ids and w.stand is not Stand.SKIPPED)
        return lasts_in(self.schedule, self.account, next(free, len(self.windows)))

    def plan(self, window: Window) -> Plan:
        return make_plan(another_window(self.config, window.name))

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it; amounts are exact, as text."""
        lasting, account = self.lasting, self.account
        return {
            "series": self.name,
            "dataset": account.dataset,
            "now": self.now.isoformat(),
            "windows": [window.as_dict() for window in self.windows],
            "currency": account.currency.value,
            "granted": str(account.granted),
            "spent_by_series": str(self.spent),
            "spent": str(account.committed),
            "remaining": str(account.remaining),
            "lasts_for_ever": lasting.for_ever,
            "lasts_until": lasting.last and lasting.last.name,
            "windows_left": None if lasting.for_ever else lasting.windows,
            "meaning": self.schedule.meaning(self.config.privacy.delta),
        }


def look(
    config: ReleaseConfig, entries: Sequence[Entry], records: Sequence[ReleaseRecord], now: datetime
) -> SeriesStatus:
    """Find out where a series stands. `records` are all of its output, withdrawn ones too."""
    settings = config.series
    if settings is None:
        raise InvalidConfig("this configuration has no section `series`: it describes one release, not windows")
    schedule = settings.plan_prices(config.period.timezone)
    calendar, account = schedule.calendar, balance_or_opening(config, entries)
    skipped = settings.skipped(calendar.zone)
    due = calendar.due(now)
    found = [_look_at(config, w, w in skipped, entries, records, account) for w in due]
    last = max((number for number, one in enumerate(found) if one.draw_ids), default=-1)
    found = [_call_missing(one) if number < last else one for number, one in enumerate(found)]
    still_open = WindowStatus(calendar.window(len(due)), Stand.OPEN, (), None, Fraction(0))
    strays = _find_strays(str(settings.name), config.dataset, calendar, entries)
    return SeriesStatus(config, schedule, (*found, still_open), account, now, strays)


def balance_or_opening(config: ReleaseConfig, entries: Sequence[Entry]) -> Account:
    """Return the dataset's account; where the ledger does not know it yet, the one that a first release opens."""
    if any(entry.dataset == config.dataset and entry.state is State.GRANTED for entry in entries):
        return balance(entries, config.dataset)
    opening, nothing = config.privacy.opening_price, Fraction(0)
    delta = config.privacy.opening_delta
    return Account(config.dataset, opening.amount, nothing, nothing, currency=opening.currency, delta=delta)


def lasts_in(schedule: Schedule, account: Account, first: int) -> Lasting:
    """Return until when an account lasts. Windows of pure epsilon out of a budget in rho cost epsilon^2 / 2."""
    own = schedule.cap.currency
    if own is account.currency:
        return schedule.lasts(account.remaining, first)
    if own is Currency.RHO:
        return Lasting(0, None)
    return schedule.lasts_squared(account.remaining, first)


def cost_of(plans: Sequence[Plan], entries: Sequence[Entry], currency: Currency) -> Fraction:
    """Return what those draws of plans that are not booked yet take of a budget in a currency."""
    return sum((price_of_unbooked(entries, plan.draws, currency) for plan in plans), Fraction(0))


def _find_strays(name: str, dataset: str, calendar: Calendar, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the booked draws of a series whose windows a calendar does not have: it had another length, or first."""
    of_window = re.compile(rf"{re.escape(name)}-(\d{{4}}-(?:w\d{{2}}|\d{{2}}-\d{{2}}))-")
    found = []
    for entry in entries:
        match = of_window.match(entry.draw_id)
        booked = entry.dataset == dataset and entry.state is State.RESERVED
        if booked and match is not None and not calendar.has(match[1]):
            found.append(entry.draw_id)
    return tuple(found)


def _look_at(
    config: ReleaseConfig,
    window: Window,
    skipped: bool,
    entries: Sequence[Entry],
    records: Sequence[ReleaseRecord],
    account: Account,
) -> WindowStatus:
    assert config.series is not None
    name = name_window(str(config.series.name), window)
    correction = f"{name}{CORRECTION}-"
    booked = {
        entry.draw_id: entry
        for entry in entries
        if entry.dataset == config.dataset and entry.state is State.RESERVED and entry.draw_id.startswith(f"{name}-")
    }
    own = [record for record in records if record.release_id.startswith(f"{name}-")]
    of_correction = [record for record in own if record.release_id.startswith(correction)]
    of_window = [record for record in own if record not in of_correction]
    cells = tuple(i for i, e in booked.items() if e.purpose == "cells" and not i.startswith(correction))
    regions = len(config.boxes)
    stand = _stand(bool(cells), of_window, regions)
    if skipped and stand in (Stand.DUE, Stand.UNFINISHED):
        stand = Stand.SKIPPED
    corrected = any(draw_id.startswith(correction) for draw_id in booked)
    spent = sum((entry.price.amount_in(account.currency) for entry in booked.values()), Fraction(0))
    return WindowStatus(window, stand, cells, _stand(True, of_correction, regions) if corrected else None, spent)


def _stand(booked: bool, records: Sequence[ReleaseRecord], regions: int) -> Stand:
    usable = {record.region for record in records if record.withdrawal is None}
    if usable and len({record.region for record in records}) == regions:
        return Stand.PUBLISHED
    if records and not usable:
        return Stand.WITHDRAWN
    return Stand.UNFINISHED if booked else Stand.DUE


def _call_missing(status: WindowStatus) -> WindowStatus:
    if status.stand is not Stand.DUE:
        return status
    return WindowStatus(status.window, Stand.MISSING, status.draw_ids, status.correction, status.spent)


def format_price(account: Account, amount: Fraction) -> str:
    """Return an amount of an account in words, without what it is as an epsilon."""
    return str(Price(amount, account.currency))
