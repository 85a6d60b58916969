"""What a person reads of where a series stands: a table that fits a screen, and sentences about what is left."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import groupby

from vdr_spark.series.status import SeriesStatus, Stand, WindowStatus

_LONG = 8  # windows in a row that stand alike and are told one by one
_SHOWN = 3  # of more, the first and the last so many
_MOST = 5  # names that a sentence lists

Row = tuple[str, str, str, str, str]


def list_rows(found: SeriesStatus) -> Iterator[Row]:
    """Yield a row for each window: name, first day, first day after it, how it stands, what it spent.

    Of many in a row that stand alike those in the middle are one row: what is missing must not be lost among them.
    """
    for _, alike in groupby(found.windows, key=_describe_stand):
        windows = [*alike]
        if len(windows) <= _LONG:
            yield from map(_row, windows)
            continue
        yield from map(_row, windows[:_SHOWN])
        yield _fold(windows[_SHOWN:-_SHOWN])
        yield from map(_row, windows[-_SHOWN:])


def describe_status(found: SeriesStatus) -> list[str]:
    """Return sentences: how many windows stand how, what is wrong with some, what is spent and left, what it means."""
    published, due = len(found.listed(Stand.PUBLISHED)), len(found.unpublished)
    (coming, at), zone = found.coming, found.schedule.calendar.zone
    return [
        f"Series {found.name}: {published} {'window is' if published == 1 else 'windows are'} published, {due} "
        f"{'is' if due == 1 else 'are'} due and not; {coming.name} is due on {at:%Y-%m-%d %H:%M} ({zone}).",
        *_name(found.listed(Stand.MISSING), "Missing, though later ones were released"),
        *_name(found.listed(Stand.UNFINISHED), "Begun and not finished, which costs nothing more"),
        str(found.account),
        f"What is left {found.lasting}.",
        found.schedule.meaning(found.config.privacy.delta),
    ]


def _name(windows: Sequence[WindowStatus], what: str) -> Iterator[str]:
    if windows:
        more = f" and {len(windows) - _MOST} more" if len(windows) > _MOST else ""
        yield f"{what}: {', '.join(one.window.name for one in windows[:_MOST])}{more}."


def _describe_stand(one: WindowStatus) -> str:
    return f"{one.stand}" if one.correction is None else f"{one.stand}, correction {one.correction}"


def _row(one: WindowStatus) -> Row:
    first, after = one.window.days
    return one.window.name, str(first), str(after), _describe_stand(one), str(one.spent or "")


def _fold(windows: Sequence[WindowStatus]) -> Row:
    spent = sum((one.spent for one in windows), Fraction(0))
    first, last = windows[0], windows[-1]
    name = f"{len(windows)} more"
    return name, str(first.window.days[0]), str(last.window.days[1]), _describe_stand(first), str(spent or "")
