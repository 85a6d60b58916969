"""Which release is meant, where a folder holds several.

One rule, in Python, SQL and on the command line. A configuration means its own release, always. Without one, a
release is named by its id, or by its region where that leaves one, or not at all where there is only one. Everything
else is refused: the newest of several would answer the same question otherwise as soon as somebody publishes again.
A release that was withdrawn is not there, unless it is asked for by its id: then it is said that it was, and why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from vdr_spark.epsilon import format_delta
from vdr_spark.errors import InvalidQuery, StageMissing, Withdrawn
from vdr_spark.release.withdrawals import Withdrawals, refuse_withdrawn

Row = Mapping[str, Any]
"""What the table `releases` says of a release."""

_MOST = 20  # releases that a sentence lists


def choose_release(
    rows: Sequence[Row],
    output: str,
    release_id: str | None = None,
    region: str | None = None,
    withdrawals: Withdrawals | None = None,
) -> Row:
    """Return the row of the release that is meant; refuse where it is not there, or where several could be.

    Those in `withdrawals` are not there; a person who may look at them leaves it out.
    """
    gone = withdrawals or {}
    there = [row for row in rows if row["release_id"] not in gone]
    found = [row for row in there if _fits(row, release_id, region)]
    if len(found) == 1:
        return found[0]
    if not found:
        _refuse_if_withdrawn(rows, output, release_id, region, gone)
        raise StageMissing(
            f"{_describe_wish(release_id, region)} is not published in {output}; run `vdr release` with its "
            f"configuration first, or ask one that is there (release_id, --release):{_list_releases(there)}"
        )
    by_region = "" if len({row["region"] for row in found}) == 1 else ', or by its region (region="...")'
    raise InvalidQuery(
        f"release_id: {output} holds {len(found)} releases, and nothing says which is meant:{_list_releases(found)}\n"
        f'Name one by its id (release_id="{found[0]["release_id"]}"){by_region}, or ask by a configuration, which '
        "means its own release: Publisher.from_yaml(CONF).read(), vdr query ... CONF"
    )


def _fits(row: Row, release_id: str | None, region: str | None) -> bool:
    return release_id in (None, row["release_id"]) and region in (None, row["region"])


def _refuse_if_withdrawn(
    rows: Sequence[Row], output: str, release_id: str | None, region: str | None, gone: Withdrawals
) -> None:
    """Say of what is asked for that it was there, and was withdrawn."""
    found = [gone[row["release_id"]] for row in rows if row["release_id"] in gone and _fits(row, release_id, region)]
    if len(found) == 1:
        raise refuse_withdrawn(found[0], output)
    if found:
        listed = "".join(
            f"\n  {one.release_id}: {one}" for one in sorted(found, key=lambda one: one.withdrawn_at)[:_MOST]
        )
        raise Withdrawn(f"{_describe_wish(None, region)} is not left in {output}, all of them were withdrawn:{listed}")


def no_release_yet(output: str) -> StageMissing:
    """Return the refusal of a folder without tables."""
    return StageMissing(f"nothing is published in {output} yet; run `vdr release` first")


def _describe_wish(release_id: str | None, region: str | None) -> str:
    of_region = f" of region {region}" if region is not None else ""
    return f"release {release_id}{of_region}" if release_id is not None else f"a release{of_region}"


def _list_releases(rows: Sequence[Row]) -> str:
    """Return a line for each release, the newest first."""
    if not rows:
        return " none"
    newest_first = sorted(rows, key=lambda row: row["created"], reverse=True)
    lines = [_describe_release(row) for row in newest_first[:_MOST]]
    more = [f"... and {len(rows) - _MOST} more"] if len(rows) > _MOST else []
    return "".join(f"\n  {line}" for line in lines + more)


def _describe_release(row: Row) -> str:
    of_region = f", region {row['region']}" if row["region"] else ""
    at_delta = f" at delta {format_delta(Fraction(delta))}" if (delta := row.get("delta")) else ""
    seeded = "" if row["protected"] else ", UNPROTECTED: from a test seed"
    return (
        f"{row['release_id']}: created {row['created']:%Y-%m-%d %H:%M} UTC, epsilon {row['epsilon']}{at_delta}, "
        f"k {row['k']}, {row['model']}{of_region}{seeded}"
    )
