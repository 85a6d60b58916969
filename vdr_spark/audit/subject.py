"""What is audited: a published release, its plan, its row, and the ledger now and at publication."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from pyspark.sql import SparkSession

from vdr_spark.collect.draws import Draws
from vdr_spark.plan import ReleasePlan
from vdr_spark.privacy.accounting import find_spending
from vdr_spark.privacy.entries import Entry
from vdr_spark.release.publish import describe_release
from vdr_spark.release.statement_parts import Published
from vdr_spark.release.withdrawals import Withdrawal

Row = dict[str, Any]


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: whether it holds (None: that cannot be told), and in words what was found."""

    check: str
    holds: bool | None
    found: str


class CheckFailed(Exception):
    """A check that does not hold, with the words for it."""


class CannotTell(Exception):
    """A check that says nothing here, with the reason."""


@dataclass
class Subject:
    """A published release, its plan, and its row of `releases`. The ledger is read once."""

    spark: SparkSession
    draws: Draws
    release: ReleasePlan
    row: Row
    withdrawal: Withdrawal | None = None

    @cached_property
    def entries(self) -> list[Entry]:
        return self.draws.ledger.entries()

    @cached_property
    def entries_at_publication(self) -> Sequence[Entry]:
        """The ledger as it was when the release was published, which remembers how far that was."""
        then = json.loads(self.row["statement"])["exact"]["ledger"]
        known = self.entries[: then["entries"]]
        if len(known) < then["entries"] or known[-1].entry_hash != then["last_entry_hash"]:
            raise CheckFailed(
                f"when the release was published, the ledger had {then['entries']} entries, the last of them another "
                f"than here, where it has {len(self.entries)}: it was cut off or replaced"
            )
        return known

    @cached_property
    def expected_row(self) -> Row:
        """The row anew, from plan, ledger, and what only the publishing run could know."""
        spent = find_spending(self.entries, self.release.draw.draw_id)
        if spent is None:
            raise CheckFailed("the ledger has no entry that paid for it")
        published = Published(**{field.name: self.row[field.name] for field in fields(Published)})
        return describe_release(self.release, published, self.entries_at_publication, spent)
