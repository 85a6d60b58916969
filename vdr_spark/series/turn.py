"""Whose turn it is: which windows of a series a command means, and what of it is refused before anything is spent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from vdr_spark.config.windowed import another_window
from vdr_spark.errors import BudgetExceeded, InvalidConfig, LedgerConflict
from vdr_spark.plan import Plan, make_plan
from vdr_spark.privacy.accounting import Account
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.series.status import SeriesStatus, Stand, WindowStatus, cost_of, format_price

_MOST = 5  # names that a sentence lists
_REMEDY = (
    "Restore the settings, or begin another series, by another `name`, whose `first` is a window that is not published "
    "yet. Nothing was reserved"
)


def choose_named(status: SeriesStatus, name: str) -> list[WindowStatus]:
    """Return the window of a name, if it is its turn."""
    chosen = status.find(name)
    require_turn(status, chosen)
    return [chosen]


def choose_next(status: SeriesStatus) -> list[WindowStatus]:
    """Return the first window that is due and not done; none where all are done."""
    return status.unpublished[:1]


def choose_until(status: SeriesStatus, until: datetime) -> list[WindowStatus]:
    """Return all windows that are due at a moment and not done, in order."""
    if until > status.now:
        raise InvalidConfig(
            f"--until must not lie in the future, because nobody knows yet what pings will come then: now it is "
            f"{status.now:%Y-%m-%d %H:%M} UTC, received {until:%Y-%m-%d %H:%M} UTC; say today"
        )
    calendar = status.schedule.calendar
    return [one for one in status.unpublished if calendar.is_due(one.window, until)]


def read_until(text: str, zone: str, now: datetime) -> datetime:
    """Read the moment of `--until`: today, or a day, which counts from its midnight on, in the series' zone."""
    if text.lower() in ("today", "now"):
        return now
    try:
        if re.match(r"\d{4}-\d{2}-\d{2}", text) is None:  # a week in ISO's words would be its Monday, and end too early
            raise ValueError
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"--until takes today, or a day such as 2020-02-03, not {text!r}; a window is released from the day on "
            "which it is due, `series.late` after its end"
        ) from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).astimezone(UTC)


def require_turn(status: SeriesStatus, chosen: WindowStatus) -> None:
    """Refuse a window that is open, that is skipped, or that would leave a gap behind it."""
    window, calendar = chosen.window, status.schedule.calendar
    local = ZoneInfo(calendar.zone)
    end, due = (f"{at.astimezone(local):%Y-%m-%dT%H:%M}" for at in (window.end, window.end + calendar.late))
    if chosen.stand is Stand.OPEN:
        raise InvalidConfig(
            f"window must be one whose time has passed, and {window.name} ends on {end}, and its pings may come until "
            f"{due} ({calendar.zone}, series.late): it is due then. Nothing was reserved"
        )
    if chosen.stand is Stand.SKIPPED:
        raise InvalidConfig(f"window must not be one that series.skip names, and {window.name} is one")
    before = [one.window.name for one in status.unpublished if one.window.number < window.number]
    if before and not chosen.draw_ids:
        raise InvalidConfig(
            f"windows are released in order, and before {window.name} {_list(before)} not published. `vdr release "
            f"CONF --until {due}` or --next releases what is due, in order; one that can never be released, because "
            "its pings were lost, is named in series.skip. Nothing was reserved"
        )


def require_same_settings(status: SeriesStatus, records: Sequence[ReleaseRecord] = ()) -> None:
    """Refuse a configuration that describes other draws than those that its windows were released by.

    A series is a promise of one kind and one grid: what differs would be a second draw over a window, or windows that
    overlap, or do not fit each other.
    """
    _require_same_calendar(status)
    _require_booked(status)
    _require_released(status)
    for one in status.windows:
        if not one.draw_ids or one.stand is Stand.SKIPPED:
            continue
        plan = status.plan(one.window)
        if plan.cells_draw.draw_id in one.draw_ids:
            continue
        differing = _find_differences(status, one, records)
        raise LedgerConflict(
            f"the settings of series {status.name} were changed in mid-series: window {one.window.name} was drawn as "
            f"{one.draw_ids[0]}, and this configuration describes {plan.cells_draw.draw_id}{differing}. Windows of one "
            f"series share grid, box, slices, bound, prices, input and places. {_REMEDY}"
        )


def _require_same_calendar(status: SeriesStatus) -> None:
    """Refuse windows of another length, or from another day on, than those that were drawn: they would overlap."""
    if status.strays:
        calendar = status.schedule.calendar
        raise LedgerConflict(
            "series.window and series.first must stay what they were, or windows would overlap: "
            f"{status.strays[0]} was drawn for series {status.name}, and windows of {calendar.length} days from "
            f"{calendar.first} on have none of that "
            f"name. {_REMEDY}"
        )


def _require_booked(status: SeriesStatus) -> None:
    """Refuse a ledger that knows nothing of what is published: all of it would be paid for once more elsewhere."""
    unknown = [one.window.name for one in status.listed(Stand.PUBLISHED, Stand.WITHDRAWN) if not one.draw_ids]
    if unknown:
        raise LedgerConflict(
            f"`dataset` and `ledger` must stay what they were in a series: of {status.name} {_list(unknown)} published "
            f"in this output, and the ledger has booked nothing for it as dataset {status.account.dataset}. {_REMEDY}"
        )


def _require_released(status: SeriesStatus) -> None:
    """Refuse to leave out what is published: it was seen, and stays."""
    skipped = status.schedule.skipped
    left_out = [w.window.name for w in status.listed(Stand.PUBLISHED, Stand.WITHDRAWN) if w.window.number in skipped]
    if left_out:
        raise InvalidConfig(
            f"series.skip must not name windows that are published, and {_list(left_out)}. Remove the name; what is "
            "not to be used any more is withdrawn (vdr releases withdraw). Nothing was reserved"
        )


def _find_differences(status: SeriesStatus, one: WindowStatus, records: Sequence[ReleaseRecord]) -> str:
    """Return which of the public settings differ, as far as a published row tells."""
    record = next((record for record in records if record.release_id.startswith(tuple(one.draw_ids))), None)
    if record is None:
        return ""
    plan = status.plan(one.window)
    region = next((region for region in plan.regions if region.name == record.region), plan.regions[0])
    pairs = {
        "grid.cells_per_side": (record.grid.cells_per_side, region.grid.cells_per_side),
        "period.slice": (f"{record.grid.slice_seconds} s", f"{region.grid.slice_seconds} s"),
        "the box": (tuple(vars(record.grid.box).values()), tuple(vars(region.grid.box).values())),
        "the bound of a user": (record.k, plan.known_bound),
        "the window's epsilon": (record.promise.figure, plan.config.privacy.promise.figure),
        "the window's start": (record.grid.start.isoformat(), region.grid.start.isoformat()),
        "the window's end": (record.grid.end.isoformat(), region.grid.end.isoformat()),
    }
    found = [f"{name} was {was} and is {now}" for name, (was, now) in pairs.items() if was != now]
    return f" ({'; '.join(found)})" if found else ""


def require_budget(
    status: SeriesStatus, chosen: Sequence[WindowStatus], entries: Sequence[Entry], correction: str | None = None
) -> None:
    """Refuse a range of windows that the budget does not pay for to its end, before the first of them is begun."""
    account, currency = status.account, status.account.currency
    left = account.remaining
    plans = {one.window.name: make_plan(another_window(status.config, one.window.name, correction)) for one in chosen}
    requested = cost_of([*plans.values()], entries, currency)
    if requested <= left:
        return
    costs = f"{format_price(account, requested)}, remaining {left}, short by {requested - left}"
    what = "window" if correction is None else "a correction of window"
    if len(chosen) == 1:
        raise BudgetExceeded(
            f"the budget of dataset `{account.dataset}` does not pay for {what} {chosen[0].window.name}: it costs "
            f"{costs}. Have more granted (vdr budget grant). Nothing was reserved"
        )
    raise BudgetExceeded(
        f"the budget of dataset `{account.dataset}` ends within the windows asked for: {len(chosen)} of them, "
        f"{chosen[0].window.name} to {chosen[-1].window.name}, cost {costs}; "
        f"{_suffices(plans, entries, account)}. Ask for fewer, or have more granted (vdr budget grant). Nothing was "
        "reserved"
    )


def _suffices(plans: Mapping[str, Plan], entries: Sequence[Entry], account: Account) -> str:
    """Say until which window a budget suffices that does not do so for all."""
    left, paid = account.remaining, ""
    for name, plan in plans.items():
        left -= cost_of([plan], entries, account.currency)
        if left < 0:
            break
        paid = name
    return f"it suffices until {paid}" if paid else "it suffices for none of them"


def require_correction(status: SeriesStatus, chosen: WindowStatus, reason: str) -> None:
    """Refuse to correct what is not published, or was corrected, and to do so for no reason."""
    if not reason.strip():
        raise InvalidConfig(
            '--correct must say why, in words that are published with the correction, such as "phones of one vendor '
            f'came late" (received {reason!r}). Nothing was reserved'
        )
    make_plan(another_window(status.config, chosen.window.name, reason))  # nothing kept back is told here
    if chosen.stand not in (Stand.PUBLISHED, Stand.WITHDRAWN):
        remedy = "it can be released when it is due" if chosen.stand is Stand.OPEN else "release it"
        raise InvalidConfig(
            f"a correction is of a window that is published, and {chosen.window.name} is {chosen.stand}; {remedy}"
        )
    if chosen.correction is Stand.PUBLISHED:
        raise InvalidConfig(
            f"window {chosen.window.name} was corrected already, and what it kept back paid for one correction"
        )


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST])
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"{shown}{more} {'is' if len(names) == 1 else 'are'}"
