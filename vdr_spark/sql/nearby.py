"""What a question asks for, compared with columns as it is: conditions by which engines skip row groups.

The exact conditions are about `bounds`, which Spark folds into constants. Other engines take them for a join, and read
everything. So they are told in plain comparisons, too, which rows may be near; a row more does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from vdr_spark.pyramid import Days
from vdr_spark.sql.dialects import Dialect
from vdr_spark.sql.expressions import clip, number
from vdr_spark.sql.subject import Subject


@dataclass(frozen=True)
class Nearby:
    """Conditions on rows `r`, each more than is needed; none where an engine finds out itself."""

    box: list[str] = field(default_factory=list)  # of cells that a box touches
    squares: list[str] = field(default_factory=list)  # of squares inside it
    period: list[str] = field(default_factory=list)  # of days inside a period
    slices: list[str] = field(default_factory=list)  # of slices that it touches and no whole day holds
    strips: list[str] = field(default_factory=list)  # of the rim of a box: along its south, north, west and east


def nearby(subject: Subject, dialect: Dialect, days: Sequence[Days], period: bool) -> Nearby:
    """Return the conditions for a box, and for a period where one is asked for."""
    if dialect.functions == "function":
        return Nearby()
    height, width = cell_degrees(subject)
    touched, inside = _between(dialect, height, width), _between(dialect, 0.0, 0.0)
    strips = _strips(dialect, height, width, subject.factors[0] + 1) if subject.factors else []
    if not period:
        return Nearby(touched, inside, strips=strips)
    start, end = ask_period(subject, dialect)
    low, high = (
        f"CAST({way}({clip(edge, 0, subject.grid.slices)}) AS INTEGER)"
        for way, edge in (("floor", start), ("ceil", end))
    )
    within = [f"r.slice >= {low}", f"r.slice < {high}"]
    at_ends = [_outside_days(run, start, end) for run in days]
    return Nearby(touched, inside, within, within + at_ends, strips)


def _between(dialect: Dialect, height: float, width: float) -> list[str]:
    south, west, north, east = ask_box(dialect)
    return [
        f"r.lat > {south} - {number(height)} AND r.lat < {north} + {number(height)}",
        f"r.lon > {west} - {number(width)} AND r.lon < {east} + {number(width)}",
    ]


def _outside_days(run: Days, start: str, end: str) -> str:
    """Return that a slice is in none of the days that lie wholly in the period. Its edges may be off by rounding.

    Then they take a day away, never one more: the first slice of a day is rounded up, its end down.
    """
    length = number(run.slices)
    first, last = (clip(f"{edge} - {number(run.first)}", 0, run.end - run.first) for edge in (start, end))
    return (
        f"(r.slice < CAST({number(run.first)} + {length} * ceil({first} / {length}) AS INTEGER) "
        f"OR r.slice >= CAST({number(run.first)} + {length} * floor({last} / {length}) AS INTEGER))"
    )


def _strips(dialect: Dialect, height: float, width: float, cells: int) -> list[str]:
    """Return where the rim lies that squares of the finest level leave over, side by side, each so many cells deep."""
    south, west, north, east = ask_box(dialect)
    high, wide = number(height * cells), number(width * cells)
    return [
        f"r.lat < {south} + {high}",
        f"r.lat > {north} - {high}",
        f"r.lon < {west} + {wide}",
        f"r.lon > {east} - {wide}",
    ]


def ask_box(dialect: Dialect) -> tuple[str, str, str, str]:
    """Return south, west, north and east as they are asked for."""
    south, west, north, east = (f"CAST({dialect.ask(name)} AS DOUBLE)" for name in ("south", "west", "north", "east"))
    return south, west, north, east


def ask_period(subject: Subject, dialect: Dialect) -> tuple[str, str]:
    """Return start and end in slices from the first; a moment that is not given is that of the release."""
    grid = subject.grid
    low, high = (
        f"(coalesce({dialect.micros.format(f'CAST({dialect.ask(name)} AS {dialect.moment})')}, {micros}) "
        f"- {number(grid.start_us)}) / {number(grid.slice_seconds * 1_000_000)}"
        for name, micros in (("from_time", grid.start_us), ("to_time", grid.end_us))
    )
    return low, high


def cell_degrees(subject: Subject) -> tuple[float, float]:
    """Return height and width of a cell, in degrees."""
    box, side = subject.grid.box, subject.grid.cells_per_side
    return (box.north - box.south) / side, (box.east - box.west) / side
