"""Withdrawn releases: a mark that every reader respects, and that nobody takes back.

A row of the table `withdrawals` says that a release is not to be used any more, since when and why. Nothing is deleted:
the release's rows stay where they are, its epsilon stays spent, and what was downloaded stays out there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from vdr_spark.errors import DamagedTable, InvalidWithdrawal, Withdrawn
from vdr_spark.storage import delta_files
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import RELEASES, WITHDRAWALS

_MADE_WITH_WITHDRAWALS = 2  # schema version of `releases` from which on `withdrawals` is there too


@dataclass(frozen=True)
class Withdrawal:
    """A row of `withdrawals`."""

    release_id: str
    withdrawn_at: datetime  # UTC
    reason: str
    code_version: str

    def __str__(self) -> str:
        return f"withdrawn {self._when_and_why}"

    @property
    def banner(self) -> str:
        """The same, to be seen."""
        return f"WITHDRAWN {self._when_and_why}"

    @property
    def _when_and_why(self) -> str:
        return f"on {self.withdrawn_at:%Y-%m-%d %H:%M} UTC: {self.reason.rstrip('.')}"

    def as_dict(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return asdict(self) | {"withdrawn_at": self.withdrawn_at.isoformat()}


Withdrawals = Mapping[str, Withdrawal]
"""What was withdrawn, by the release's id."""


def by_release(rows: Iterable[Mapping[str, Any]]) -> dict[str, Withdrawal]:
    """Return rows of `withdrawals` by release. There is one of each; should another tool have added more, the first."""
    newest_first = sorted(rows, key=lambda row: row["withdrawn_at"], reverse=True)
    return {row["release_id"]: Withdrawal(**{name: row[name] for name in WITHDRAWALS.names}) for row in newest_first}


def read_withdrawals(folder: OutputFolder) -> dict[str, Withdrawal]:
    """Return what was withdrawn in an output folder, without Spark; nothing where it is from before there was any."""
    path, releases = str(folder.table(WITHDRAWALS.name)), str(folder.table(RELEASES.name))
    rows = delta_files.read_rows(path, WITHDRAWALS)
    if not rows and not delta_files.is_delta_table(path):
        require_from_before(path, delta_files.find_schema_version(releases, RELEASES))
    with delta_files.naming_damage(path):
        return by_release(rows)


def require_from_before(place: object, version: int | None) -> None:
    """Refuse an output without `withdrawals`, unless its `releases`, of this version, is from before there was one.

    Publishing makes `withdrawals` before `releases`. Without it nobody knows what may be used: it was deleted, or the
    person who asks may not see it.
    """
    if version is not None and version >= _MADE_WITH_WITHDRAWALS:
        raise DamagedTable(
            f"{place} must be there, beside the table `releases`, to say what was withdrawn, and is not: it was "
            "deleted, or you may not read it. Have it restored, or the right to read it granted; if nothing was ever "
            "withdrawn, `vdr releases migrate` makes it anew"
        )


def refuse_withdrawn(withdrawal: Withdrawal, output: str) -> Withdrawn:
    """Return the refusal of a release that was withdrawn and is asked for."""
    return Withdrawn(
        f"release {withdrawal.release_id} in {output} was {withdrawal}. Do not use it any more: ask another one (vdr "
        "releases list), or whoever publishes here. A steward who must look says --withdrawn-too, in Python "
        "allow_withdrawn=True"
    )


def refuse_republishing(withdrawal: Withdrawal) -> Withdrawn:
    """Return the refusal to publish a release that was published and withdrawn."""
    return Withdrawn(
        f"release {withdrawal.release_id} was {withdrawal}. It stays withdrawn and is not published again. Publish "
        "another one: other settings under `denoise` or `refine`, or a corrected N, make another release of the same "
        "draw and cost nothing; any other change is a new draw, and is paid for"
    )


def parse_reason(text: str) -> str:
    """Return a reason on one line; refuse one that says nothing, or that is more than words."""
    reason = " ".join(text.split())
    if not reason:
        raise InvalidWithdrawal("reason must say in a few words why the release is withdrawn, and is empty (--reason)")
    if not reason.isprintable():
        raise InvalidWithdrawal(f"reason must be words on a line, without control characters, not {reason!r}")
    return reason
