"""From the settings of a series and the name of a window to the settings of an ordinary release: that window's.

What follows from the series is filled in: name, period, price, the budget that opens the account. The rest is as
written. So a window is a release like any other, with a draw, an id and a ledger entry of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from vdr_spark.config.sentences import describe_errors
from vdr_spark.config.series import SeriesSettings
from vdr_spark.config.values import parse_seconds, parse_window, parse_zone
from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Price
from vdr_spark.schedule import Kind, Schedule
from vdr_spark.windows import Calendar, Window

if TYPE_CHECKING:
    from vdr_spark.config.release import ReleaseConfig

_SLICE = 10_800  # seconds, unless `period.slice` says otherwise
_LOOKED_AT = 800  # windows whose lengths are compared with the slice: two years of days
_FILLED_IN = {"period": ("start", "end"), "privacy": ("epsilon", "rho")}
_FOLLOWS = "follows from `series`; remove it"
CORRECTION = "-c"  # ends the name of a correction


def settle_window(given: Mapping[str, Any]) -> dict[str, Any]:
    """Fill in what follows from a series and a window; what was filled in before, and no series, is left as it is."""
    filled = dict(given)
    settings = _read_series(filled.get("series"))
    if settings is None or settings.name is not None:
        return filled
    period, privacy = _section(filled, "period"), _section(filled, "privacy")
    _refuse_what_follows(period, privacy)
    calendar = settings.calendar(_read(parse_zone, "period.timezone", period.get("timezone", "UTC")))
    _require_whole_slices(calendar, _read(parse_seconds, "period.slice", period.get("slice", _SLICE)))
    window, schedule = choose_window(settings, calendar, filled.get("window")), settings.plan_prices(calendar.zone)
    correction = filled.get("correction") is not None
    if isinstance(name := filled.get("name"), str):  # what is wrong with it is told later, with the rest
        filled["series"] = settings.model_copy(update={"name": name})
        filled["name"] = name_window(name, window, correction)
    filled["window"] = window.name
    filled["period"] = period | {"start": _local(window.days[0]), "end": _local(window.days[1])}
    filled["privacy"] = _fill_in_price(privacy, price_of(schedule, window, correction), schedule)
    return filled


def another_window(config: ReleaseConfig, name: str, correction: str | None = None) -> ReleaseConfig:
    """Return the configuration of another window of the same series, or of a correction of it."""
    assert config.series is not None
    given = config.model_dump()
    given |= {"name": config.series.name, "window": name, "correction": correction}
    given["series"] |= {"name": None}
    for section, names in _FILLED_IN.items():
        given[section] = {key: value for key, value in given[section].items() if key not in names}
    return type(config)(**given)


def name_first_window(given: Mapping[str, Any]) -> str:
    """Return the name of the first window of the series that settings describe, of those that are released."""
    settings = _read_series(given.get("series"))
    assert settings is not None
    return _first_released(settings, settings.calendar("UTC")).name


def _first_released(settings: SeriesSettings, calendar: Calendar) -> Window:
    skipped = {window.number for window in settings.skipped(calendar.zone)}
    return next(window for window in calendar.windows() if window.number not in skipped)


def choose_window(settings: SeriesSettings, calendar: Calendar, name: object) -> Window:
    """Return the window of a name; refused where there is none, or it is one that is skipped."""
    if name is None:
        first = _first_released(settings, calendar).name
        raise InvalidConfig(
            "window is missing: this configuration describes a series. vdr release takes --next, --until today, or a "
            f"window, such as --window {first}; other commands take --set window={first}"
        )
    window = calendar.named(_read(parse_window, "window", name))
    if window in settings.skipped(calendar.zone):
        raise InvalidConfig(f"window must not be one that series.skip names, and {window.name} is one")
    return window


def name_window(series: str, window: Window, correction: bool = False) -> str:
    """Return the name of a window's release, with which its draws' ids begin."""
    return f"{series}-{window.slug}{CORRECTION if correction else ''}"


def price_of(schedule: Schedule, window: Window, correction: bool) -> Price:
    """Return what a window, or its correction, costs; refused where nothing was kept back for one."""
    if not correction:
        return schedule.price(window)
    if not schedule.correction_share:
        raise InvalidConfig(
            "series.correction_share is not set, so windows keep nothing back for a correction: pings that come late, "
            "or are corrected, are left out. That is public, and holds for the whole series"
        )
    return schedule.correction_price(window)


def check_window(config: ReleaseConfig) -> None:
    """Raise a ValueError where a release is not what its series and window say that it is."""
    settings, name = config.series, config.window
    if settings is None:
        if name is not None or config.correction is not None:
            raise ValueError("`window` and `correction` are of a series; add the section `series`, or remove them")
        return
    schedule = settings.plan_prices(config.period.timezone)
    window = schedule.calendar.named(str(name))
    period = config.period.utc(config.period.start), config.period.utc(config.period.end)
    if period != (window.start, window.end):
        raise ValueError(f"`period` must be that of window {window.name}, {window.start} to {window.end}")
    price = price_of(schedule, window, config.correction is not None)
    if config.privacy.price != price:
        raise ValueError(f"the price must be what series.schedule says of window {window.name}, {price}")


def _read_series(raw: object) -> SeriesSettings | None:
    if raw is None or isinstance(raw, SeriesSettings):
        return raw
    try:
        return SeriesSettings.model_validate(raw)
    except ValidationError as problem:
        raise InvalidConfig(f"the section `series` is not valid:\n{describe_errors(problem)}") from None


def _section(tree: Mapping[str, Any], name: str) -> dict[str, Any]:
    section = tree.get(name) or {}
    if not isinstance(section, Mapping):
        raise InvalidConfig(f"{name} must be a section of `key: value` lines where there is a `series`")
    return dict(section)


def _refuse_what_follows(period: Mapping[str, Any], privacy: Mapping[str, Any]) -> None:
    for section, settings in (("period", period), ("privacy", privacy)):
        for name in _FILLED_IN[section]:
            if settings.get(name) is not None:
                raise InvalidConfig(f"{section}.{name} {_FOLLOWS} (received {settings[name]})")


def _read(parse: Any, name: str, value: object) -> Any:
    try:
        return parse(value)
    except ValueError as problem:
        raise InvalidConfig(f"{name} {problem} (received {value!r})") from None


@lru_cache(maxsize=64)
def _require_whole_slices(calendar: Calendar, slice_seconds: int) -> None:
    """Refuse slices that some window is no whole number of, now and not in mid-series, on the day the clocks change."""
    for window in islice(calendar.windows(), _LOOKED_AT):
        seconds = round((window.end - window.start).total_seconds())
        if seconds % slice_seconds:
            offset = datetime.combine(calendar.first, datetime.min.time(), ZoneInfo(calendar.zone)).utcoffset()
            hours = round(-offset.total_seconds() / 3600) if offset is not None else 0
            raise InvalidConfig(
                f"every window must be a whole number of slices, and {window.name} has {seconds} s, no multiple of "
                f"period.slice ({slice_seconds} s). Where clocks change in {calendar.zone}, slices of 1h fit; or name "
                f"a zone in which they do not, such as UTC or Etc/GMT{hours:+d}"
            )


def _local(day: Any) -> datetime:
    return datetime.combine(day, datetime.min.time())


def _fill_in_price(privacy: dict[str, Any], price: Price, schedule: Schedule) -> dict[str, Any]:
    filled = privacy | {price.currency.value: price.amount}
    if filled.get("budget") is None:
        filled["budget"] = {schedule.opening.currency.value: schedule.opening.amount}
    if schedule.kind is Kind.WEEKLY:
        filled.setdefault("unit", "user_week")
    return filled
