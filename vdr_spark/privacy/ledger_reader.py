"""Reading the ledger, and making sure that it is whole: no entry was edited, taken out, put in between or cut off.

On a local disk and in an object store it is read without Spark, whose Java process takes longer to start than all
questions to a ledger take together. Elsewhere, and where anything about the table is in doubt, Spark is asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from vdr_spark.errors import DamagedTable, LedgerConflict
from vdr_spark.privacy import accounting
from vdr_spark.privacy.accounting import Account
from vdr_spark.privacy.entries import Draw, Entry, State
from vdr_spark.privacy.ledger_head import LedgerHead
from vdr_spark.privacy.ledger_store import LedgerStore
from vdr_spark.storage import delta_files
from vdr_spark.storage.conditional_put import StoreUnreachable
from vdr_spark.storage.delta_log import list_commits
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.store_log import open_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PATIENCE = (0.1, 0.4)  # seconds between looks, before a ledger that its head contradicts is said to be cut off


class LedgerReader:
    """The ledger at its places. Every method looks whether another process has written, and reads the table if so."""

    def __init__(self, places: LedgerPlaces, open_spark: Callable[[], SparkSession]):
        """`open_spark` is called where the table cannot be read without Spark, and not before."""
        self._places, self._open_spark = places, open_spark
        self._head = LedgerHead(places.head)
        log = open_log(places.table)
        self._store = None if log is None else LedgerStore(log)  # of a table in an object store
        self._verified: tuple[list[str], list[Entry]] = [], []  # commits, and the entries they hold

    @property
    def path(self) -> str:
        """Where it is, in words."""
        return str(self._places.table)

    def entries(self) -> list[Entry]:
        """Return all entries in order, after checking that none was edited, taken out, put in between or cut off."""
        for wait in (*_PATIENCE, None):
            position = self._head.read()  # before the table: another process may write an entry in between
            entries = self._read_verified()
            if not position.contradicts(entries):
                return list(entries)
            if wait is None:
                break
            self._verified = [], []  # an old copy of the table may have been read: nobody is accused for that
            time.sleep(wait)
        raise LedgerConflict(
            f"the ledger {self.path} has {len(entries)} entries, but its head {self._head.path} remembers entry "
            f"{position.sequence} with another ending: the ledger was cut off, replaced or deleted. Nothing more "
            "is released until it is restored (Delta's history, a backup), or people have found out what was spent"
        )

    def _read_verified(self) -> list[Entry]:
        """Return the entries, read anew where a commit has come since they were read last."""
        table = self._places.table
        # Of a name only Spark knows, and of a store the log itself is asked: read it each time.
        commits = list_commits(table) if isinstance(table, str) and self._store is None else []
        if not commits or commits != self._verified[0]:
            entries = self._read()
            self._check_chain(entries)
            self._verified = commits, entries
        return self._verified[1]

    def account(self, dataset: str) -> Account:
        return accounting.balance(self.entries(), dataset)

    def state_of(self, draw_id: str) -> State | None:
        """Return reserved, spent, or None where the draw was never booked (a refusal books nothing)."""
        return accounting.state_of(self.entries(), draw_id)

    def find_spending(self, draw: Draw) -> Entry | None:
        """Return the entry that says the draw was made."""
        entries = self.entries()
        accounting.check_same_draw(entries, draw)
        return accounting.find_spending(entries, draw.draw_id)

    def _read(self) -> list[Entry]:
        try:
            return [_to_entry(row) for row in sorted(self._read_rows(), key=lambda row: int(row["sequence"]))]
        except (KeyError, TypeError, ValueError):
            raise LedgerConflict(
                f"the ledger {self.path} has other columns or values than a ledger of this version; it is another "
                "table, or was made by another version. Point `ledger` at the right one"
            ) from None

    def _read_rows(self) -> list[dict[str, Any]]:
        """Read the table: on a disk or in a store without Spark, which needs a second; else or in doubt by Spark."""
        place = self._places.table
        if self._store is not None:
            with suppress(DamagedTable, StoreUnreachable):
                return self._store.read_rows()
        if isinstance(place, str) and is_local(place):
            with suppress(DamagedTable):
                return delta_files.read_rows(place, LEDGER)
        from vdr_spark.storage import tables

        table = tables.read_table(self._open_spark(), place, LEDGER)
        return [] if table is None else tables.read_rows(table)

    def _check_chain(self, entries: Sequence[Entry]) -> None:
        previous = ""
        for number, entry in enumerate(entries, start=1):
            if entry.sequence != number or entry.entry_hash != entry.hash_after(previous):
                raise LedgerConflict(
                    f"the ledger {self.path} was changed by hand at entry {number}. Nothing more is released until "
                    "people have found out what was spent; Delta's history shows what was changed, and when"
                )
            previous = entry.entry_hash


def _to_entry(row: dict[str, Any]) -> Entry:
    """Return a row as an entry; an older ledger has neither rho nor delta, and all of its amounts are epsilons."""
    amounts = {name: Fraction(row[name]) for name in ("epsilon", "rho", "delta") if row.get(name) is not None}
    return Entry(**(row | {"state": State(row["state"])} | amounts))
