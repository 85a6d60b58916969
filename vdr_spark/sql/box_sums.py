"""Which released rows a box and a period touch, and by what share: the steps up to `parts`.

As `vdr_spark.query.coverage` has it, with one difference: what lies outside the grid is left out, and `inside` says how
much of the box and the period was inside. Where a pyramid is there, whole days and the inside of large boxes come from
its sums: at each level the squares wholly inside whose parents are not, and at the rim the cells. Each cell is in one
of these parts, and all sums are exact, so the answer is that of the cells alone to the last digit.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from vdr_spark.pyramid import Days, blocks_along
from vdr_spark.query.coverage import EDGE_CELLS
from vdr_spark.sql.dialects import Dialect
from vdr_spark.sql.error_bars import Steps
from vdr_spark.sql.expressions import clip, number, snap
from vdr_spark.sql.nearby import Nearby, ask_box, ask_period, cell_degrees, nearby
from vdr_spark.sql.subject import Subject
from vdr_spark.sql.views import Sources

_AXES = ("y", "x", "t")
_WIDEST = 360.0  # degrees: no number, and none that is infinite, is less
BOX_RULE = "south must be less than north, west less than east, all of them degrees; swap or correct them"
PERIOD_RULE = "from_time must be before to_time; swap or widen them"


def locate(subject: Subject, dialect: Dialect, function: str, period: bool) -> Steps:
    """Return the steps that turn a box, and a period where one is asked for, into `bounds` in cells and slices."""
    clipped = ",\n    ".join(
        f"{clip(f'a.{axis}_{end}', 0, size)} AS {axis}_{end}_in"
        for axis, size in zip(_AXES, _sizes(subject), strict=True)
        for end in ("low", "high")
    )
    asked, within = (" * ".join(f"(c.{axis}_high{of} - c.{axis}_low{of})" for axis in _AXES) for of in ("", "_in"))
    placed = ",\n    ".join(
        f"{snap(f'c.{axis}_{end}_in', EDGE_CELLS)} AS {axis}{place}"
        for axis in _AXES
        for place, end in enumerate(("low", "high"))
    )
    return [
        ("asked", f"SELECT {_positions(subject, dialect, function, period)}"),
        ("clipped", f"SELECT a.*,\n    {clipped}\n  FROM asked a"),
        ("placed", f"SELECT {placed},\n    ({within}) / ({asked}) AS inside\n  FROM clipped c"),
        ("bounds", f"SELECT p.*{_edges(subject, subject.days if period else [])}\n  FROM placed p"),
    ]


def _sizes(subject: Subject) -> tuple[int, int, int]:
    side = subject.grid.cells_per_side
    return side, side, subject.grid.slices


def _positions(subject: Subject, dialect: Dialect, function: str, period: bool) -> str:
    """Return where the edges lie, in cells from the south-western corner and in slices from the first."""
    grid, (south, west, north, east) = subject.grid, ask_box(dialect)
    height, width = cell_degrees(subject)
    low, high = (number(edge) for edge in (grid.box.south, grid.box.west))
    sane = (
        f"{south} < {north} AND {west} < {east} AND {north} - {south} <= {number(_WIDEST)} "
        f"AND {east} - {west} <= {number(_WIDEST)}"
    )
    refusal = dialect.fail.format(dialect.text(f"{function}: {BOX_RULE}"))
    times = _times(subject, dialect, function) if period else ("0.0E0", number(grid.slices))
    columns = (
        (f"CASE WHEN {sane} THEN ({south} - {low}) / {number(height)} ELSE {refusal} END", "y_low"),
        (f"({north} - {low}) / {number(height)}", "y_high"),
        (f"({west} - {high}) / {number(width)}", "x_low"),
        (f"({east} - {high}) / {number(width)}", "x_high"),
        (times[0], "t_low"),
        (times[1], "t_high"),
    )
    return ",\n    ".join(f"{text} AS {name}" for text, name in columns)


def _times(subject: Subject, dialect: Dialect, function: str) -> tuple[str, str]:
    """Return start and end in slices, refused where they are turned round."""
    refusal = dialect.fail.format(dialect.text(f"{function}: {PERIOD_RULE}"))
    low, high = ask_period(subject, dialect)
    return f"CASE WHEN {low} < {high} THEN {low} ELSE {refusal} END", high


def _edges(subject: Subject, days: Sequence[Days]) -> str:
    """Return the columns that say which squares of each level, and which days, lie wholly inside; in cells, slices."""
    side, columns = subject.grid.cells_per_side, []
    for factor in subject.factors:
        end = factor * blocks_along(side, factor)
        for axis in ("y", "x"):
            step = number(factor)
            columns.append(f"{step} * ceil(p.{axis}0 / {step}) AS {axis}0_{factor}")
            columns.append(
                f"CASE WHEN p.{axis}1 >= {number(side)} THEN {number(end)} "
                f"ELSE {step} * floor(p.{axis}1 / {step}) END AS {axis}1_{factor}"
            )
    for place, run in enumerate(days):
        first, length = number(run.first), number(run.slices)
        columns.append(f"{first} + {length} * ceil(greatest(p.t0 - {first}, 0.0E0) / {length}) AS day0_{place}")
        columns.append(
            f"{first} + {length} * floor((least(p.t1, {number(run.end)}) - {first}) / {length}) AS day1_{place}"
        )
    return "".join(f",\n    {column}" for column in columns)


def add_up(subject: Subject, dialect: Dialect, sources: Sources, period: bool) -> Steps:
    """Return the step `parts`: rows of (slice, slice_start, share, count, variance), of which each cell is in one.

    A row of a day stands for all its slices under the first of them, so only a question about a period gets days.
    From the tables themselves: whether the release is in force is asked once, in the end.
    """
    chosen, days = f"r.release_id = {dialect.text(subject.release_id)}", subject.days if period else []
    of_days = " OR ".join(f"r.slice >= b.day0_{n} AND r.slice < b.day1_{n}" for n in range(len(days)))
    by_slice = [_touched("t"), *(f"(r.slice < b.day0_{n} OR r.slice >= b.day1_{n})" for n in range(len(days)))]
    levels = _levels(subject)
    near = nearby(subject, dialect, days, period)
    by_slice += near.slices
    rims = [[_touched("y"), _touched("x"), *near.box, *of] for of in _rims(levels, near)]
    squares = [[f"r.factor = {of}", *near.squares, *_inside(of), *_outside(of, parent)] for of, parent in levels]
    parts = [_part(sources.cells, _AXES, [chosen, *by_slice, *rim]) for rim in rims]
    parts += [_part(sources.pyramid, ("t",), [chosen, "r.slices = 1", *by_slice, *of]) for of in squares]
    if days:
        whole = [chosen, "r.slices > 1", f"({of_days})", *near.period]
        parts += [_part(sources.pyramid, ("y", "x"), [*whole, "r.factor = 1", *rim]) for rim in rims]
        parts += [_part(sources.pyramid, (), [*whole, *of]) for of in squares]
    return [("parts", "\n  UNION ALL\n  ".join(parts))]


def _levels(subject: Subject) -> list[tuple[int, int | None]]:
    """Return the levels that questions use, each with the one above it."""
    return list(zip_longest(subject.factors, subject.factors[1:]))


def _rims(levels: Sequence[tuple[int, int | None]], near: Nearby) -> list[list[str]]:
    """Return which cells no square inside the box holds: in one condition, or in four strips that engines can tell."""
    if not levels or not near.strips:
        return [_outside(1, levels[0][0] if levels else None)]
    y0, y1, x0, x1 = (f"b.{edge}_{levels[0][0]}" for edge in ("y0", "y1", "x0", "x1"))
    middle = f"r.y >= {y0} AND r.y < {y1}"
    exact = (
        f"r.y < {y0}",
        f"r.y >= {y0} AND r.y >= {y1}",
        f"{middle} AND r.x < {x0}",
        f"{middle} AND r.x >= {x0} AND r.x >= {x1}",
    )
    return [[strip, rule] for strip, rule in zip(near.strips, exact, strict=True)]


def _part(table: str, cut: Sequence[str], conditions: Sequence[str]) -> str:
    """Return one part: rows of a table by the share that is covered, along the axes on which they may be cut."""
    share = " * ".join(_share(axis) for axis in cut) or "1.0E0"
    deviation = "CAST(r.deviation AS DOUBLE)"
    variance = f"{deviation} * {deviation}" if len(cut) == len(_AXES) else "r.variance"  # cells have no sums of them
    return (
        f"SELECT r.slice, r.slice_start, {share} AS share, CAST(r.count AS DOUBLE) AS count, {variance} AS variance\n"
        f"  FROM {table} r CROSS JOIN bounds b\n  WHERE {' AND '.join(conditions)}"
    )


def _column(axis: str) -> str:
    return "r.slice" if axis == "t" else f"r.{axis}"


def _share(axis: str) -> str:
    place = _column(axis)
    return f"(least({place} + 1.0E0, b.{axis}1) - greatest({place} + 0.0E0, b.{axis}0))"


def _touched(axis: str) -> str:
    place = _column(axis)
    return f"{place} > b.{axis}0 - 1.0E0 AND {place} < b.{axis}1"


def _inside(factor: int) -> list[str]:
    """Return that a square lies wholly inside."""
    step = number(factor)
    return [
        f"r.{axis} >= b.{axis}0_{factor} / {step} AND r.{axis} < b.{axis}1_{factor} / {step}" for axis in ("y", "x")
    ]


def _outside(factor: int, parent: int | None) -> list[str]:
    """Return that the square above does not: its sum would hold this one."""
    if parent is None:
        return []
    step = number(factor)
    sides = [
        f"r.{axis} {than} b.{axis}{end}_{parent}" + ("" if factor == 1 else f" / {step}")
        for axis in ("y", "x")
        for end, than in ((0, "<"), (1, ">="))
    ]
    return [f"({' OR '.join(sides)})"]
