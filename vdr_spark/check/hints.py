"""What looks wrong with the pings, in sentences: what was found, what it may mean, what to do.

Every hint is a rule of thumb over exact figures. Those that are `wrong` make `vdr check` end with exit code 6, the
others are worth knowing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from vdr_spark.check.measure import Measured, TimeRange
from vdr_spark.check.wording import describe_difference, percent, round_total
from vdr_spark.grid import Grid
from vdr_spark.plan import Plan

FEW_PERCENT = 0.05  # by which a declared N may be off
_NEARLY_NONE = 0.001  # share of rows inside below which box or period are hardly meant so
_FEW = 0.01  # share of rows inside below which it is worth a word: one city of a country may have as few
_MANY_TIMES = 10  # so many more rows in the box by another reading of their degrees
_UNREADABLE = 0.01  # share of rows
_NULL = 0.1  # share of rows
_HEAVY_ID, _FEW_USERS = 0.2, 100  # share of pings that one id has, among more users than a few
_LITTLE_KEPT = 0.1  # share of pings
_NEAR = timedelta(hours=14), timedelta(minutes=30)  # zones are at most 14 h from UTC, and half an hour from others
_FACTORS = (1_000, 1_000_000, 1_000_000_000)  # between seconds, milliseconds, microseconds and nanoseconds
_READINGS = {
    "swapped": "if latitude and longitude were swapped; exchange them in input.columns (lat: ..., lon: ...)",
    "longitude_mirrored": "if longitudes had the other sign; west of Greenwich they are negative: mend the column or "
    "`region`",
    "latitude_mirrored": "if latitudes had the other sign; south of the equator they are negative: mend the column or "
    "`region`",
    "millionths": "if their degrees were divided by a million: they are stored in millionths; divide them before",
}


@dataclass(frozen=True)
class Hint:
    """A sentence for the operator. NOT private: it quotes exact figures."""

    name: str
    sentence: str
    wrong: bool = True  # false: worth knowing, and perhaps as it should be


def find_hints(plan: Plan, measured: Measured) -> Iterator[Hint]:
    """Look for everything that looks wrong; without a row there is nothing else to say."""
    if not measured.rows:
        yield Hint("no_rows", f"There is no row in {plan.config.input.location}; see input.path and input.format.")
        return
    for look in _LOOKS:
        yield from look(plan, measured)


def _look_at_columns(_: Plan, measured: Measured) -> Iterator[Hint]:
    for ours, column in measured.columns.items():
        unreadable, null = column.unreadable / measured.rows, column.null / measured.rows
        if unreadable > _UNREADABLE:
            words = _WHY_UNREADABLE["ts" if ours == "ts" else "degrees"](column.kind)
            yield Hint(
                f"unreadable_{ours}",
                f"{percent(unreadable)} of the rows have a `{column.name}` ({column.kind}, our `{ours}`) that cannot "
                f"be read, and are left out: {words}.",
            )
        if null > _NULL:
            yield Hint(
                f"null_{ours}",
                f"{percent(null)} of the rows have no `{column.name}` (our `{ours}`), and are left out; see whether "
                "input.columns names the right column.",
            )


def _why_no_time(kind: str) -> str:
    if kind.startswith("string"):
        return (
            "it is text, read as 2020-01-07T06:00:00, with or without a zone, or as nine and more digits since 1970; "
            "another layout (input.layout) or a column converted to timestamps would help"
        )
    return (
        "these times lie outside the years 1 to 9999, as when milliseconds are taken for seconds (the year 50000); "
        "convert the column by its right unit"
    )


def _why_no_degrees(_kind: str) -> str:
    return "they are no numbers of degrees; a comma for the decimal point is one reason. Convert the column to doubles"


_WHY_UNREADABLE: dict[str, Callable[[str], str]] = {"ts": _why_no_time, "degrees": _why_no_degrees}


def _look_at_box(_: Plan, measured: Measured) -> Iterator[Hint]:
    share, best = measured.in_box / measured.rows, max(measured.otherwise, key=lambda name: measured.otherwise[name])
    otherwise = measured.otherwise[best]
    if otherwise > _MANY_TIMES * measured.in_box and otherwise / measured.rows > _NEARLY_NONE:
        yield Hint(
            best,
            f"{measured.in_box:,} of {measured.rows:,} rows lie in the box, and {otherwise:,} would {_READINGS[best]}.",
        )
    elif share < _NEARLY_NONE:
        yield Hint(
            "empty_box",
            f"Nearly no rows lie in the box: {measured.in_box:,} of {measured.rows:,}. See `region`, the order of "
            "`center` (latitude, longitude), and that degrees are WGS 84 and not metres of a projection.",
        )
    elif share < _FEW:
        yield Hint(
            "few_in_box",
            f"Only {percent(share)} of the rows lie in the box, which is right for one city of a large data set.",
            wrong=False,
        )


def _look_at_period(plan: Plan, measured: Measured) -> Iterator[Hint]:
    share, times, grid = measured.in_period / measured.rows, measured.times, plan.grids[0]
    if times is None:
        return  # no time can be read, which was said
    if shift := _find_shift(times, grid):
        yield Hint(
            "shifted_times",
            f"The pings begin and end about {_hours(shift)} than the period: times without a zone may have been read "
            "in a wrong one. See input.timezone (of the pings) and period.timezone (of start and end).",
        )
    elif share < _NEARLY_NONE:
        yield Hint("empty_period", _explain_empty_period(times, grid, measured))
    elif share < _FEW:
        yield Hint(
            "few_in_period",
            f"Only {percent(share)} of the rows lie in the period, right for a short period of a long data set; "
            f"the rows are from {_day(times.first_us)} to {_day(times.last_us)}.",
            wrong=False,
        )


def _explain_empty_period(times: TimeRange, grid: Grid, measured: Measured) -> str:
    found = (
        f"Nearly no rows lie in the period: {measured.in_period:,} of {measured.rows:,}. Their times are from "
        f"{_day(times.first_us)} to {_day(times.last_us)}, half of them after {_day(times.median_us)}"
    )
    for factor in _FACTORS:  # never the other way round: what is a thousand times too large lies beyond the year 9999
        if grid.start_us <= times.median_us * factor < grid.end_us:
            return (
                f"{found}; multiplied by {factor:,} they would lie in it. Their unit was mistaken (seconds for "
                "milliseconds, or the like) when the column was written; convert it by its right unit."
            )
    if datetime(1969, 1, 1, tzinfo=UTC) < _moment(times.median_us) < datetime(1972, 1, 1, tzinfo=UTC):
        return (
            f"{found}, near 1970, where numbers of a wrong unit end up (seconds taken for milliseconds); convert the "
            "column by its right unit."
        )
    return f"{found}. See period.start, period.end and input.timezone."


def _find_shift(times: TimeRange, grid: Grid) -> timedelta | None:
    """Return by how much the pings' first and last times lie beside the period's, where both do so by the same hours.

    Pings of exactly the period, read in a wrong zone, look so; those that go on before and after it do not.
    """
    longest, shortest = _NEAR
    early, late = (timedelta(microseconds=us) for us in (times.first_us - grid.start_us, times.last_us - grid.end_us))
    alike = abs(early - late) < max(shortest, timedelta(seconds=grid.slice_seconds) / 4)
    return early if alike and shortest <= abs(early) <= longest else None


def _hours(shift: timedelta) -> str:
    return f"{abs(shift) / timedelta(hours=1):.1f} hours {'later' if shift > timedelta() else 'earlier'}"


def _moment(micros: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _day(micros: int) -> str:
    return f"{_moment(micros):%Y-%m-%d %H:%M} UTC"


def _look_at_both(_: Plan, measured: Measured) -> Iterator[Hint]:
    outside = measured.pings / measured.rows < _NEARLY_NONE
    if outside and min(measured.in_box, measured.in_period) / measured.rows >= _NEARLY_NONE:
        yield Hint(
            "apart",
            f"Rows lie in the box and rows lie in the period, and nearly none in both with a user: {measured.pings:,}. "
            "The data may be of other places at that time.",
        )
    for name, pings in measured.by_region.items():
        if not pings and measured.pings:
            yield Hint("empty_region", f"No ping lies in region `{name}` during the period; see regions.{name}.")


def _look_at_users(plan: Plan, measured: Measured) -> Iterator[Hint]:
    users, pings = measured.per_user, measured.pings
    if pings and users.total_users > _FEW_USERS and users.most / pings > _HEAVY_ID:
        yield Hint(
            "heavy_id",
            f"One user has {percent(users.most / pings)} of all pings. An id that stands for many people (empty, "
            "zeros, unknown) is bounded as one person is; see input.columns.user_id, or leave such rows out.",
        )
    k, name = choose_k(plan, measured), plan.config.privacy.bound_name
    if pings and (bound := k or plan.known_bound) is not None and bound >= users.most:
        yield Hint(
            f"large_{name}",
            f"No user has more than {name} = {bound:,} pings, so {name} bounds nobody, and the noise, which grows with "
            f"{name}, could be less.",
            wrong=False,
        )
    if pings and k is not None and users.kept(k) / pings < _LITTLE_KEPT:
        yield Hint(
            "small_k",
            f"k = {k:,} keeps {percent(users.kept(k) / pings)} of the pings: most of what is released will stand for "
            "pings that were left out. A larger k keeps more, and needs more noise.",
            wrong=False,
        )


def _look_at_total(plan: Plan, measured: Measured) -> Iterator[Hint]:
    declared, pings, estimate = plan.declared_total, measured.pings, plan.config.privacy.estimate_total
    if not pings:
        return
    if declared is not None and abs(declared / pings - 1) > FEW_PERCENT:
        yield Hint(
            "total_pings",
            f"privacy.total_pings declares {declared:,} pings, {describe_difference(declared, pings)} inside box and "
            f"period, {pings:,}. N is the pings inside both, and released counts are scaled to it: correct it (about "
            f"{round_total(pings):,}), or have it estimated (privacy.estimate_total).",
        )
    if estimate is not None and (lost := 1 - measured.per_user.kept(estimate.max_per_user) / pings) > FEW_PERCENT:
        yield Hint(
            "max_per_user",
            f"privacy.estimate_total counts at most {estimate.max_per_user:,} pings of a user, and so misses "
            f"{percent(lost)} of N, by which all counts will be too small; raise max_per_user; N gets more noise.",
        )


_LOOKS: tuple[Callable[[Plan, Measured], Iterator[Hint]], ...] = (
    _look_at_columns,
    _look_at_box,
    _look_at_period,
    _look_at_both,
    _look_at_users,
    _look_at_total,
)


def choose_k(plan: Plan, measured: Measured) -> int | None:
    """Return k: as the configuration gives it, or by the N that an estimate would find but for its noise.

    None where norms are bounded: what a norm keeps depends on how a user's pings are spread, which is not measured.
    """
    if plan.known_bound is not None:
        return plan.known_k
    estimate = plan.config.privacy.estimate_total
    assert estimate is not None
    return plan.bound(measured.per_user.kept(estimate.max_per_user))
