"""The ledger: one Delta table that says what every release of a dataset reserved and spent.

An entry is written before any data are read. A reservation counts against the budget from then on, whether or not
it is ever spent: a crash at any point counts too much, never too little. Entries are numbered, and a number is given
out once. On a disk it is the version of the Delta transaction that writes the entry, under a lock file; in an object
store the commit that writes it is one that the store itself lets through once (`privacy.ledger_store`). So two releases
at once cannot both take the last epsilon. Each entry carries a hash of itself and its predecessor, which shows edits;
the ledger's head (`privacy.ledger_head`) shows that its end is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

from pyspark.sql import SparkSession

from vdr_spark.errors import BudgetExceeded, Busy, LedgerConflict
from vdr_spark.privacy import accounting
from vdr_spark.privacy.accounting import BudgetRequest, Cap, Draw, Entry, Posting, State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.privacy.ledger_store import to_row
from vdr_spark.spark_errors import pass_over_conflicts
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.store_log import open_log_to_write
from vdr_spark.storage.tables import append_once, create_if_missing, find_folder

_ATTEMPTS = 20  # a competitor gets in between at most once per entry it writes

Decision = Callable[[Sequence[Entry]], Posting | None]
"""Decides by the ledger as it stands what to write next; None: nothing."""


class Ledger(LedgerReader):
    """The ledger at its places, to be read and written."""

    def __init__(self, spark: SparkSession, places: LedgerPlaces):
        super().__init__(places, lambda: spark)
        self._spark = spark

    def grant(self, request: BudgetRequest, epsilon: Fraction) -> None:
        """Add to a dataset's budget: a decision of people, on record for ever."""
        self._write(request, lambda _: Posting(State.GRANTED, epsilon))

    def cap(self, request: BudgetRequest, cap: Cap) -> None:
        """Limit how fast the dataset's budget may be spent, from now on."""
        self._write(request, lambda _: _cap_posting(cap))

    def reserve(self, request: BudgetRequest) -> State:
        """Book all draws of a release before its data are read.

        Returns the state of its cells: RESERVED, now or by an earlier run that did not finish, or SPENT. Raises
        `BudgetExceeded`, and leaves a `refused` entry, where they would overspend. A dataset that the ledger does not
        know yet is opened with the budget that its first release declares.
        """
        reservations = [_decide_reservation(request, draw) for draw in request.draws]
        entries = self._write(request, _decide_opening(request), _decide_opening_cap(request), *reservations)
        states = [accounting.state_of(entries, draw.draw_id) for draw in request.draws]
        if states[-1] is None or None in states:
            raise BudgetExceeded(_describe_refusal(request, entries))
        return states[-1]

    def mark_spent(self, request: BudgetRequest, draw: Draw, tensor_sha256: str) -> Entry:
        """Say that a reserved draw was made, and what came of it. Changes nothing where the ledger says so already.

        Where the ledger says that something else came of it, this is a second draw for one price, and refused.
        """
        entries = self._write(request, _decide_spending(draw, tensor_sha256))
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
        draft = Entry(
            sequence=len(entries) + 1,
            dataset=request.dataset,
            recorded_at=datetime.now(UTC),
            configuration_hash=request.configuration_hash,
            entry_hash="",
            **vars(posting),
        )
        new = replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else ""))
        if self._store is not None and open_log_to_write(self._places.table) is not None:
            self._store.append(new)
        else:
            self._append_by_spark(new)
        return new

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
            create_if_missing(self._spark, self._places.table, LEDGER)  # before that a name leads nowhere
        folder = find_folder(self._spark, self._places.table)
        return None if folder is None else f"{folder}.lock"


def _cap_posting(cap: Cap) -> Posting:
    return Posting(State.CAPPED, cap.epsilon, window_seconds=cap.window_seconds)


def _decide_opening(request: BudgetRequest) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        known = any(entry.dataset == request.dataset and entry.state is State.GRANTED for entry in entries)
        return None if known else Posting(State.GRANTED, request.opening_budget)

    return decide


def _decide_opening_cap(request: BudgetRequest) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        # Only an account that nothing was asked of yet: afterwards a cap is a decision of people (`vdr budget cap`).
        new = all(entry.state is State.GRANTED for entry in entries if entry.dataset == request.dataset)
        return _cap_posting(request.opening_cap) if request.opening_cap and new else None

    return decide


def _decide_reservation(request: BudgetRequest, draw: Draw) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        if accounting.state_of(entries, draw.draw_id) is not None:
            accounting.check_same_draw(entries, draw)
            return None
        before = request.draws[: request.draws.index(draw)]
        if any(accounting.state_of(entries, other.draw_id) is None for other in before):
            return None  # refused already
        # All draws of the release or none: half of them would be paid for and useless.
        price = accounting.price_of_unbooked(entries, request.draws)
        allowed = price <= accounting.balance(entries, request.dataset).remaining
        return Posting.about(draw, State.RESERVED if allowed else State.REFUSED)

    return decide


def _decide_spending(draw: Draw, tensor_sha256: str) -> Decision:
    def decide(entries: Sequence[Entry]) -> Posting | None:
        accounting.check_same_draw(entries, draw)
        if accounting.state_of(entries, draw.draw_id) is not State.RESERVED:
            return None
        return Posting.about(draw, State.SPENT, tensor_sha256)

    return decide


def _describe_refusal(request: BudgetRequest, entries: Sequence[Entry]) -> str:
    account = accounting.balance(entries, request.dataset)
    requested = accounting.price_of_unbooked(entries, request.draws)
    cap = (
        f"at most {account.cap.epsilon} within {account.cap.window_seconds} s, of which {account.recent} is taken, "
        if account.cap is not None
        else ""
    )
    return (
        f"the budget of dataset `{request.dataset}` does not allow this release: requested epsilon {requested}, "
        f"granted {account.granted}, already reserved or spent {account.committed}, {cap}remaining "
        f"{account.remaining}, short by {requested - account.remaining}. Lower privacy.epsilon, or have more granted "
        "(vdr budget grant); privacy.budget and privacy.cap only open an account."
    )
