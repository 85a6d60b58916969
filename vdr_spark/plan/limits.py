"""What the schedule of a series lets a window's draws cost, for the ledger to hold them to."""

from __future__ import annotations

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import name_window
from vdr_spark.privacy.entries import Limit


def list_limits(config: ReleaseConfig) -> tuple[Limit, ...]:
    """Return the limits of a window: its own price, and the cap that it shares with others; none without a series.

    They are kept by names, not by ids: under other settings a window has another id, and is the same window. The cap of
    a geometric schedule is the sum over all windows there will be, each of which is held to its own price.
    """
    settings = config.series
    if settings is None or settings.name is None or config.window is None:
        return ()
    schedule = settings.plan_prices(config.period.timezone)
    window = schedule.calendar.named(config.window)
    name = settings.name
    own = Limit(f"window {window.name} of series {name}", schedule.allowed(window), (name_window(name, window),))
    others = tuple(name_window(name, other) for other in schedule.together(window))
    if not others:
        return (own,)
    first = window.year if schedule.kind == "yearly" else f"{window.weeks[0][0]}-W{window.weeks[0][1]:02}"
    return own, Limit(f"the windows of series {name} in {first}", schedule.cap, others)
