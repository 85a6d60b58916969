"""The views: one release in force, its cells and its pyramid; and the cells of all releases in force.

A withdrawn release is in none of them, nor is one that never came to be published, whatever `cells` holds.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from vdr_spark.sql.dialects import Dialect
from vdr_spark.sql.error_bars import Steps
from vdr_spark.sql.subject import Subject

NOT_WITHDRAWN = "NOT EXISTS (SELECT 1 FROM {withdrawals} w WHERE w.release_id = r.release_id)"
_PLACE = "c.slice, c.slice_start, {clock}, c.y, c.x, c.lat, c.lon"


@dataclass(frozen=True)
class Sources:
    """The tables that SQL reads, each as a query writes it."""

    cells: str
    pyramid: str
    releases: str
    withdrawals: str


def view_steps(subject: Subject, dialect: Dialect, sources: Sources, names: dict[str, str]) -> Steps:
    """Return the views of one release in order, under the keys `release`, `cells` and `pyramid` of `names`."""
    chosen = dialect.text(subject.release_id)
    in_force = NOT_WITHDRAWN.format(withdrawals=sources.withdrawals)
    place = _PLACE.format(clock=local_clock(subject, dialect, "c.slice"))
    # One row or none: without a release in force nothing of it is seen.
    rows = f"WHERE c.release_id = {chosen} AND EXISTS (SELECT 1 FROM {names['release']})"
    sums = "CAST(c.deviation AS DOUBLE)"
    steps = [
        (
            "release",
            "SELECT r.release_id, r.dataset, r.region, r.created, r.protected, r.epsilon, r.k, r.period_start, "
            f"r.period_end\n  FROM {sources.releases} r\n  WHERE r.release_id = {chosen} AND {in_force}",
        ),
        (
            "cells",
            f"SELECT c.release_id, {place},\n    CAST(c.count AS DOUBLE) AS count, {sums} AS deviation, "
            f"c.protected\n  FROM {sources.cells} c\n  {rows}",
        ),
    ]
    if subject.pyramid:
        steps.append(
            (
                "pyramid",
                f"SELECT c.release_id, c.factor, c.slices, {place},\n    c.count, {sums} AS deviation, c.variance, "
                f"c.protected\n  FROM {sources.pyramid} c\n  {rows}",
            )
        )
    return steps


def all_cells(sources: Sources) -> str:
    """Return the query of the cells of all releases in force. Never to be added up across releases."""
    in_force = NOT_WITHDRAWN.format(withdrawals=sources.withdrawals)
    return (
        "SELECT c.release_id, c.slice, c.slice_start, c.y, c.x, c.lat, c.lon,\n"
        "    CAST(c.count AS DOUBLE) AS count, CAST(c.deviation AS DOUBLE) AS deviation, c.protected\n"
        f"  FROM {sources.cells} c\n  JOIN (SELECT r.release_id FROM {sources.releases} r WHERE {in_force}) f\n"
        "    ON f.release_id = c.release_id"
    )


def local_clock(subject: Subject, dialect: Dialect, slice_number: str) -> str:
    """Return local_date and local_hour of a slice's start, in the release's zone.

    By arithmetic: engines differ in what they know of zones, and some take that of the session for it.
    """
    clocks = subject.clocks
    if len(clocks) == 1:
        start = str(clocks[0][1])
    else:
        later = " ".join(
            f"WHEN {slice_number} < {until} THEN {local}" for (_, local), (until, _) in itertools.pairwise(clocks)
        )
        start = f"CASE {later} ELSE {clocks[-1][1]} END"
    seconds = f"({start} + CAST({slice_number} AS BIGINT) * {subject.grid.slice_seconds})"
    day = dialect.day.format(f"CAST(floor({seconds} / 86400.0E0) AS INTEGER)")
    hour = f"CAST(floor(({seconds} % 86400) / 3600.0E0) AS INTEGER)"
    return f"{day} AS local_date, {hour} AS local_hour"
