"""The ledger: one Delta table that says what every release of a dataset reserved and spent.

An entry is written before any data are read. A reservation counts against the budget from then on, whether or not
it is ever spent: a crash at any point counts too much, never too little. Entries are numbered, and a number is given
out once. The commit that writes it is one that an object store, or the disk, lets through once
(`privacy.ledger_store`); on a disk a lock file is held besides. Where neither can be had (a table that only a catalog
knows), Spark commits, and the number is the version of its transaction. So two releases at once cannot both take the
last epsilon. Each entry carries a hash of itself and its predecessor, which shows edits;
the ledger's head (`privacy.ledger_head`) shows that its end is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from vdr_spark.errors import BudgetExceeded, Busy, DamagedTable, LedgerConflict
from vdr_spark.privacy import accounting
from vdr_spark.privacy.decisions import (
    Decision,
    decide_cap,
    decide_grant,
    decide_opening,
    decide_opening_cap,
    decide_reservation,
    decide_spending,
    describe_refusal,
)
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Entry, Grant, Posting, State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.privacy.ledger_store import LedgerStore, to_row
from vdr_spark.spark_errors import pass_over_conflicts
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.conditional_put import NoConditionalPut
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.store_log import open_log_on_disk, open_log_to_write
from vdr_spark.storage.tables import append_once, create_if_missing, find_folder

_ATTEMPTS = 20  # a competitor gets in between at most once per entry it writes


class Ledger(LedgerReader):
    """The ledger at its places, to be read and written."""

    def __init__(self, spark: SparkSession, places: LedgerPlaces):
        super().__init__(places, lambda: spark)
        self._spark = spark
        self._disk = None if self._store is not None else _open_on_disk(places.table)

    def grant(self, request: BudgetRequest, grant: Grant) -> None:
        """Add to a dataset's budget, in its currency: a decision of people, on record for ever."""
        self._write(request, decide_grant(request.dataset, grant))

    def cap(self, request: BudgetRequest, cap: Cap) -> None:
        """Limit how fast the dataset's budget may be spent, from now on, in its currency."""
        self._write(request, decide_cap(request.dataset, cap))

    def reserve(self, request: BudgetRequest) -> State:
        """Book all draws of a release before its data are read.

        Returns the state of its cells: RESERVED, now or by an earlier run that did not finish, or SPENT. Raises
        `BudgetExceeded`, and leaves a `refused` entry, where they would overspend; `OtherCurrency`, and leaves none,
        where they have no price in the dataset's currency, or people take that for another one. A dataset that the
        ledger does not know yet is opened with the budget that its first release declares.
        """
        reservations = [decide_reservation(request, draw) for draw in request.draws]
        entries = self._write(request, decide_opening(request), decide_opening_cap(request), *reservations)
        states = [accounting.state_of(entries, draw.draw_id) for draw in request.draws]
        if states[-1] is None or None in states:
            raise BudgetExceeded(describe_refusal(request, entries))
        return states[-1]

    def mark_spent(self, request: BudgetRequest, draw: Draw, tensor_sha256: str) -> Entry:
        """Say that a reserved draw was made, and what came of it. Changes nothing where the ledger says so already.

        Where the ledger says that something else came of it, this is a second draw for one price, and refused.
        """
        entries = self._write(request, decide_spending(draw, tensor_sha256))
        spent = accounting.find_spending(entries, draw.draw_id)
        if spent is None:
            raise LedgerConflict(
                f"draw {draw.draw_id} has a noisy tensor but the ledger {self.path} does not know it: "
                "the ledger was replaced or another one is configured; point `ledger` at the right one"
            )
        if spent.tensor_sha256 != tensor_sha256:
            raise LedgerConflict(
                f"draw {draw.draw_id} was made before, and the ledger {self.path} has the SHA-256 of other numbers "
                "than those stored here: two draws for one price, or a tensor that was changed. Nothing of it may be "
                "published. Bring back the folder with the first one, and destroy this one"
            )
        return spent

    def _write(self, request: BudgetRequest, *decisions: Decision) -> list[Entry]:
        """Decide by the ledger as it stands what to write, and write that; decide anew where another was faster.

        One decision after the other, each by a ledger that holds what the last one wrote. Returns that ledger.
        """
        with exclusive(self._find_lock()):
            entries = self.entries()
            if entries:
                # Its writer may have been killed before it told the head. A head that cannot be told stops us here.
                self._head.advance(entries[-1])
            for decide in decisions:
                for _ in range(_ATTEMPTS):
                    posting = decide(entries)
                    if posting is None:
                        break
                    new = self._append(entries, request, posting)
                    entries = self.entries()
                    if new in entries:
                        self._head.advance(new)
                        break
                else:
                    raise Busy(f"the ledger {self.path} is too busy right now; run the same command again")
        return entries

    def _append(self, entries: Sequence[Entry], request: BudgetRequest, posting: Posting) -> Entry:
        """Try to write the next entry, one per transaction. The ledger tells whether another took its number first."""
        draft = posting.enter(len(entries) + 1, request.dataset, datetime.now(UTC), request.configuration_hash)
        new = replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else ""))
        if self._store is not None and open_log_to_write(self._places.table) is not None:
            self._store.append(new)
        elif self._disk is None or not self._append_on_disk(self._disk, new):
            self._append_by_spark(new)
        return new

    def _append_on_disk(self, disk: LedgerStore, new: Entry) -> bool:
        """Try to write an entry without Spark, which takes seconds for it; False where the file system cannot."""
        try:
            disk.append(new)
        except NoConditionalPut:
            self._disk = None
        return self._disk is not None

    def _read_rows(self) -> list[dict[str, Any]]:
        """Read what is on a disk by what will write the next entry: it then follows the rows that were read."""
        # Opened anew: asked for what came since, delta-rs would not notice that the folder was replaced.
        self._disk = self._disk and _open_on_disk(self._places.table)
        try:
            return super()._read_rows() if self._disk is None else self._disk.read_rows()
        except DamagedTable:
            self._disk = None  # Spark is asked, here and to write
            return super()._read_rows()

    def _append_by_spark(self, new: Entry) -> None:
        # One partition: of several, Spark would also write the first one, without a row, into a file of its own.
        frame = self._spark.createDataFrame([tuple(to_row(new).values())], LEDGER.schema).coalesce(1)
        with pass_over_conflicts():
            create_if_missing(self._spark, self._places.table, LEDGER)
            append_once(frame, self._places.table, LEDGER, "ledger", version=new.sequence)

    def _find_lock(self) -> str | None:
        """Return the file that all who write this ledger lock: beside its table, so that its name leads all to one.

        None where the table is in a store, which keeps a second writer out by itself (`privacy.ledger_store`), or
        cannot, and then a person was asked whether there is one (`collect.exclusion`).
        """
        if self._store is not None:
            return None
        if not isinstance(self._places.table, str):
            with pass_over_conflicts():  # of two who bring it up to date at once, one does
                create_if_missing(self._spark, self._places.table, LEDGER)  # before that a name leads nowhere
        folder = find_folder(self._spark, self._places.table)
        return None if folder is None else f"{folder}.lock"


def _open_on_disk(place: Place) -> LedgerStore | None:
    """Return what reads and writes a ledger on a disk without Spark; None elsewhere."""
    log = open_log_on_disk(place)
    return None if log is None else LedgerStore(log)
