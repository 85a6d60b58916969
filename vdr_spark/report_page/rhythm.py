"""When a city is busy: pings by the hour of the day, on working days and at weekends."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vdr_spark.report_page.digest import Digest

_SATURDAY = 5


@dataclass(frozen=True)
class Rhythm:
    """Mean pings of slices by the clock of the release's zone."""

    hours: list[str]  # when slices begin, such as 06:00
    groups: dict[str, list[float]]  # Monday to Friday, Saturday and Sunday; one of them where there is no other


def hour_of_day(digest: Digest) -> Rhythm | None:
    """Return the profile of a day; None where slices are so long, or so uneven, that days have none."""
    release = digest.release
    if release.grid.slices_per_day < 2 or 86_400 % release.grid.slice_seconds:
        return None
    sums: dict[str, dict[str, list[float]]] = {"Monday to Friday": {}, "Saturday and Sunday": {}}
    for number, total in enumerate(digest.totals.tolist()):
        start = release.grid.slice_start(number).astimezone(release.zone)
        kind = "Saturday and Sunday" if start.weekday() >= _SATURDAY else "Monday to Friday"
        sums[kind].setdefault(f"{start:%H:%M}", []).append(total)
    hours = sorted({hour for by_hour in sums.values() for hour in by_hour})
    groups = {
        kind: [float(np.mean(by_hour[hour])) if hour in by_hour else 0.0 for hour in hours]
        for kind, by_hour in sums.items()
        if by_hour
    }
    return Rhythm(hours, groups)
