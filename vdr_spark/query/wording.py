"""How answers are put into words: moments, counts, lengths."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo

from vdr_spark.grid import Box


def format_moment(moment: datetime, zone: tzinfo | None = None) -> str:
    """Return a moment to the minute with the name and offset of its zone, its own unless another one is given."""
    local = moment.astimezone(zone or moment.tzinfo or UTC)
    name = local.tzinfo.key if isinstance(local.tzinfo, ZoneInfo) else ""
    if local.tzinfo is UTC or name == "UTC":
        return f"{local:%Y-%m-%d %H:%M} UTC"
    offset = "UTC" + local.isoformat()[-6:]
    return f"{local:%Y-%m-%d %H:%M} {name} ({offset})" if name else f"{local:%Y-%m-%d %H:%M} {offset}"


def format_count(count: float) -> str:
    """Return whole pings, or two decimals where there are only a few."""
    return f"{count:,.0f}" if abs(count) >= 10 else f"{round(count, 2) + 0.0:g}"  # + 0.0: never "-0"


def format_deviation(deviation: float | None) -> str:
    """Return what follows a count whose error is known; nothing where it is not."""
    return "" if deviation is None else f" (± {format_count(deviation)}, one standard deviation)"


def box_sides_m(box: Box) -> tuple[float, float]:
    """Return width and height of a box in metres, at its middle latitude."""
    height, width = box.side_metres
    return width, height


def format_box(box: Box) -> str:
    """Return width x height, such as 1.2 km x 800 m."""
    return " x ".join(format_length(side) for side in box_sides_m(box))


def format_length(metres: float) -> str:
    """Return metres, or kilometres with one decimal."""
    return f"{metres / 1000:.1f} km" if metres >= 999.5 else f"{metres:.0f} m"
