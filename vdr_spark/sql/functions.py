"""The table functions: their parameters, what they return, and the steps that compute it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from vdr_spark.sql.box_sums import add_up, locate
from vdr_spark.sql.dialects import Dialect
from vdr_spark.sql.error_bars import QUANTILE, Steps, judge
from vdr_spark.sql.expressions import number, upper_tail
from vdr_spark.sql.subject import Subject
from vdr_spark.sql.views import Sources, local_clock

Columns = tuple[tuple[str, str, str], ...]
"""Name, type and meaning of each."""

_MOMENT = "MOMENT"  # an instant, whatever an engine calls its type
_BOX: Columns = (
    ("south", "DOUBLE", "southern edge, degrees"),
    ("west", "DOUBLE", "western edge, degrees"),
    ("north", "DOUBLE", "northern edge, degrees"),
    ("east", "DOUBLE", "eastern edge, degrees"),
)
_PERIOD: Columns = (
    ("from_time", _MOMENT, "start; null: that of the release"),
    ("to_time", _MOMENT, "end; null: that of the release"),
)
_BARS: Columns = (
    ("deviation", "DOUBLE", "error bar, one standard deviation of the sum; null: no error bars"),
    ("low", "DOUBLE", "lower end of the nominal 90 % interval, not below 0"),
    ("high", "DOUBLE", "upper end of the nominal 90 % interval"),
)
_PROTECTED: Columns = (("protected", "BOOLEAN", "false: made with a test seed, protects nobody"),)
_SLICE: Columns = (("slice", "INT", "number of the time slice"), ("slice_start", _MOMENT, "when it begins"))
_CLOCK: Columns = (
    ("local_date", "DATE", "its day in the release's zone"),
    ("local_hour", "INT", "the hour in which it begins, in the release's zone"),
)


@dataclass(frozen=True)
class Function:
    """A table function: parameters, columns, the steps of its WITH, and its last SELECT."""

    name: str
    comment: str
    parameters: Columns
    optional: tuple[str, ...]  # parameters that may be left out
    columns: Columns
    steps: Steps
    select: str


Maker = Callable[[Subject, Dialect, Sources, str], Function]
"""Of a release, a dialect, its tables, and the name of the view that has a row while the release is in force."""


def range_count(subject: Subject, dialect: Dialect, sources: Sources, in_force: str) -> Function:
    """Pings of a box during a period."""
    return Function(
        "range_count",
        "Pings of a box during a period, with error bar; cells that are cut count by their share.",
        _BOX + _PERIOD,
        ("from_time", "to_time"),
        (
            ("count", "DOUBLE", "estimated pings; null where the grid has nothing of the box and the period"),
            *_BARS,
            ("inside", "DOUBLE", "share of the box and the period that the release covers; the rest is not counted"),
            *_PROTECTED,
        ),
        [
            *locate(subject, dialect, "range_count", period=True),
            *add_up(subject, dialect, sources, period=True),
            ("sums", "SELECT sum(share * count) AS pings, sum(share * share * variance) AS own\n  FROM parts"),
            (
                "measured",
                "SELECT s.pings, s.own, (b.y1 - b.y0) * (b.x1 - b.x0) * (b.t1 - b.t0) AS cells, "
                "b.t1 - b.t0 AS slices, b.inside\n  FROM sums s CROSS JOIN bounds b",
            ),
            *judge(subject.errors),
        ],
        f"SELECT j.pings AS count, j.deviation, {_interval('j')}, j.inside, r.protected\n"
        f"FROM judged j CROSS JOIN {in_force} r",
    )


def series(subject: Subject, dialect: Dialect, sources: Sources, in_force: str) -> Function:
    """Pings of a box in every slice."""
    return Function(
        "series",
        "Pings of a box in every slice, with error bars; no rows for a box outside the grid.",
        _BOX,
        (),
        (*_SLICE, ("count", "DOUBLE", "estimated pings"), *_BARS, *_PROTECTED),
        [
            *_by_slice(subject, dialect, sources, "series"),
            (
                "measured",
                "SELECT s.slice, s.slice_start, s.pings, s.own, (b.y1 - b.y0) * (b.x1 - b.x0) AS cells, "
                "1.0E0 AS slices\n  FROM slice_sums s CROSS JOIN bounds b",
            ),
            *judge(subject.errors),
        ],
        f"SELECT j.slice, j.slice_start, j.pings AS count, j.deviation, {_interval('j')}, r.protected\n"
        f"FROM judged j CROSS JOIN {in_force} r",
    )


def hour_profile(subject: Subject, dialect: Dialect, sources: Sources, in_force: str) -> Function:
    """Mean pings of a box by the hour of the day."""
    return Function(
        "hour_profile",
        "Mean pings of a box in a slice that begins in an hour of the local day, with the error bar of the mean.",
        _BOX,
        (),
        (
            ("local_hour", "INT", "the hour in which slices begin, in the release's zone"),
            ("slices", "BIGINT", "how many slices begin in it"),
            ("count", "DOUBLE", "mean of their estimated pings"),
            *_BARS,
            *_PROTECTED,
        ),
        [
            *_by_slice(subject, dialect, sources, "hour_profile"),
            ("clocks", f"SELECT s.*, {local_clock(subject, dialect, 's.slice')}\n  FROM slice_sums s"),
            (
                "hours",
                "SELECT local_hour, count(*) AS number, sum(pings) AS pings, sum(own) AS own\n"
                "  FROM clocks GROUP BY local_hour",
            ),
            (
                "measured",
                "SELECT h.local_hour, h.number, h.pings, h.own, (b.y1 - b.y0) * (b.x1 - b.x0) * h.number AS cells, "
                "h.number + 0.0E0 AS slices\n  FROM hours h CROSS JOIN bounds b",
            ),
            *judge(subject.errors),
            (
                "means",
                "SELECT local_hour, number, pings / slices AS pings, deviation / slices AS deviation\n  FROM judged",
            ),
        ],
        f"SELECT j.local_hour, j.number AS slices, j.pings AS count, j.deviation, {_interval('j')}, r.protected\n"
        f"FROM means j CROSS JOIN {in_force} r",
    )


def hotspots(subject: Subject, dialect: Dialect, sources: Sources, in_force: str) -> Function:
    """Cells with many pings."""
    refusal = dialect.fail.format(dialect.text("hotspots: nu must be a positive number of pings; raise it"))
    nu = f"CAST({dialect.ask('nu')} AS DOUBLE)"
    count, deviation = "CAST(c.count AS DOUBLE)", "CAST(c.deviation AS DOUBLE)"
    return Function(
        "hotspots",
        "Cells whose released count reaches nu in a slice, and how sure it is that the true one does.",
        (("nu", "DOUBLE", "pings that make a hot spot"),),
        (),
        (
            *_SLICE,
            *_CLOCK,
            ("y", "INT", "row, from the south"),
            ("x", "INT", "column, from the west"),
            ("lat", "DOUBLE", "latitude of the centre of the cell"),
            ("lon", "DOUBLE", "longitude of the centre of the cell"),
            ("count", "DOUBLE", "estimated pings"),
            ("deviation", "DOUBLE", "error bar, one standard deviation; null: no error bars"),
            ("probability", "DOUBLE", "that the true count reaches nu, were errors normal; null: no error bars"),
            *_PROTECTED,
        ),
        [
            ("asked", f"SELECT CASE WHEN {nu} > 0.0E0 THEN {nu} ELSE {refusal} END AS least"),
            (
                "busy",
                f"SELECT c.slice, c.slice_start, {local_clock(subject, dialect, 'c.slice')}, c.y, c.x, c.lat, c.lon,\n"
                f"    {count} AS count, {deviation} AS deviation, "
                f"CASE WHEN c.deviation > 0.0E0 THEN ({count} - a.least) / {deviation} "
                f"WHEN c.deviation = 0.0E0 THEN {number(40)} END AS z\n"
                f"  FROM {sources.cells} c CROSS JOIN asked a\n"
                f"  WHERE c.release_id = {dialect.text(subject.release_id)} AND {count} >= a.least",
            ),
        ],
        "SELECT b.slice, b.slice_start, b.local_date, b.local_hour, b.y, b.x, b.lat, b.lon, b.count, b.deviation,\n"
        f"  CASE WHEN b.z IS NOT NULL THEN 1.0E0 - {upper_tail('b.z')} END AS probability, r.protected\n"
        f"FROM busy b CROSS JOIN {in_force} r",
    )


def _by_slice(subject: Subject, dialect: Dialect, sources: Sources, function: str) -> Steps:
    return [
        *locate(subject, dialect, function, period=False),
        *add_up(subject, dialect, sources, period=False),
        (
            "slice_sums",
            "SELECT slice, slice_start, sum(share * count) AS pings, sum(share * share * variance) AS own\n"
            "  FROM parts GROUP BY slice, slice_start",
        ),
    ]


def _interval(row: str) -> str:
    width = f"{number(QUANTILE)} * {row}.deviation"
    low, high = (
        f"CASE WHEN {row}.deviation IS NOT NULL THEN greatest({row}.pings {sign} {width}, 0.0E0) END AS {name}"
        for sign, name in (("-", "low"), ("+", "high"))
    )
    return f"{low},\n  {high}"


FUNCTIONS: tuple[Maker, ...] = (range_count, series, hour_profile, hotspots)
