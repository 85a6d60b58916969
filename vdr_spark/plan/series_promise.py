"""What a window's release has to say of its series: which window it is, what all of them cost, what is left out."""

from __future__ import annotations

from typing import Any

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.series import SeriesSettings
from vdr_spark.conversion import epsilon_at
from vdr_spark.epsilon import find_weakness
from vdr_spark.plan.plan import find_superseded
from vdr_spark.schedule import Kind, Lasting, Schedule
from vdr_spark.windows import Window


def describe_series(config: ReleaseConfig) -> list[str]:
    """Return sentences about the series of a window; none where a release is of no series."""
    if config.series is None:
        return []
    schedule, window = _read(config)
    return [
        _describe_window(config, schedule, window),
        schedule.meaning(config.privacy.delta),
        *_caution(config, schedule),
        _describe_late(config.series, config),
    ]


def exact_series(config: ReleaseConfig) -> dict[str, Any] | None:
    """Return the same for programs, amounts exact, as text."""
    if config.series is None:
        return None
    schedule, window = _read(config)
    return {
        "name": config.series.name,
        "window": window.name,
        "number": window.number + 1,
        "schedule": schedule.kind.value,
        f"{schedule.cap.currency}_cap": str(schedule.cap.amount),
        "cap_of": schedule.cap_in_words,
        "ratio": None if schedule.kind is not Kind.GEOMETRIC else str(schedule.ratio),
        "late_seconds": config.series.late,
        "correction": config.correction,
        "supersedes": find_superseded(config),
        "meaning": schedule.meaning(config.privacy.delta),
    }


def opened_lasts(config: ReleaseConfig) -> Lasting | None:
    """Return until when the budget lasts that a first window opens, if nothing else is spent of it."""
    if config.series is None:
        return None
    schedule, _ = _read(config)
    budget = config.privacy.opening_price
    if budget.currency is schedule.cap.currency:
        return schedule.lasts(budget.amount)
    return schedule.lasts_squared(budget.amount)


def _read(config: ReleaseConfig) -> tuple[Schedule, Window]:
    assert config.series is not None
    schedule = config.series.plan_prices(config.period.timezone)
    return schedule, schedule.calendar.named(str(config.window))


def _describe_window(config: ReleaseConfig, schedule: Schedule, window: Window) -> str:
    assert config.series is not None
    what = "A correction of window" if config.correction is not None else "Window"
    days = schedule.calendar.length
    return (
        f"{what} {window.name}, number {window.number + 1} of series {config.series.name}: windows of {days} "
        f"day{'s' * (days != 1)}, one draw each, that do not overlap. It costs {config.privacy.described_price}."
    )


def _describe_late(settings: SeriesSettings, config: ReleaseConfig) -> str:
    wait = f"Pings may come until {settings.late / 86_400:g} days after a window's end"
    if config.correction is not None:
        return (
            f"{wait}. This release counts the window's pings again ({config.correction}), with noise of its own, paid "
            "for by what the window had kept back. It supersedes the window's first release, which stays as it is; "
            "both were seen, and both count in the sum."
        )
    if settings.correction_share is None:
        return f"{wait}; what comes later, or is corrected later, is left out for ever."
    return (
        f"{wait}; what comes later, or is corrected later, is left out, unless one correction is paid for out of what "
        "the window keeps back, which then supersedes this release."
    )


def _caution(config: ReleaseConfig, schedule: Schedule) -> list[str]:
    """Return how weak the cap is, where it is weak."""
    delta = config.privacy.delta
    told = schedule.cap.amount if delta is None else epsilon_at(schedule.cap.amount, delta)
    weakness = find_weakness(told, delta)
    return [] if weakness is None else [f"As the sum over {schedule.cap_in_words}, {weakness}"]
