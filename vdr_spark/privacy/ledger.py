"""The ledger: one Delta table that says what every release of a dataset reserved and spent.

An entry is written before any data are read. A reservation counts against the budget from then on, whether or not
it is ever spent. Entries are numbered, and a number is given out once: it is the version of the Delta transaction that
writes the entry, and Delta lets one transaction of a version through, whoever else tries it before, after or at the
same moment. So two releases at once cannot both take the last epsilon. Each entry carries a hash of itself and its
predecessor.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction

from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import BudgetExceeded, LedgerConflict
from vdr_spark.locks import exclusive
from vdr_spark.tables import LEDGER, append_once, create_if_missing

_ATTEMPTS = 20  # a competitor gets in between at most once per entry it writes


class State(StrEnum):
    GRANTED = "granted"
    RESERVED = "reserved"
    SPENT = "spent"
    REFUSED = "refused"


@dataclass(frozen=True)
class Entry:
    """One line of the book."""

    sequence: int
    dataset: str
    draw_id: str
    state: State
    epsilon: Fraction
    recorded_at: datetime
    configuration_hash: str
    entry_hash: str

    def hash_after(self, previous: str) -> str:
        """The chain's link: of everything in this entry and the hash of the entry before."""
        parts = [previous, *(str(part) for part in astuple(self)[:-1])]
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Account:
    """What a dataset may still spend."""

    dataset: str
    granted: Fraction
    committed: Fraction  # reserved or spent

    @property
    def remaining(self) -> Fraction:
        return self.granted - self.committed


Line = tuple[State, Fraction]
"""What is to be written: a state and its epsilon."""

Decision = Callable[[Sequence[Entry], ReleaseConfig], Line | None]


class Ledger:
    """The budget book at a path. All methods read the table anew: another process may have written."""

    def __init__(self, spark: SparkSession, path: str):
        self._spark = spark
        self._path = path

    def entries(self) -> list[Entry]:
        """All entries in order, after checking that none was edited, or taken out of or put in the middle."""
        if not DeltaTable.isDeltaTable(self._spark, self._path):
            return []
        book = self._spark.read.format("delta").load(self._path)
        # Times as numbers: a Row would give them in the driver's own zone.
        rows = book.withColumn("recorded_at", F.unix_micros("recorded_at")).collect()
        entries = [_entry(row) for row in sorted(rows, key=lambda row: row.sequence)]
        self._check_chain(entries)
        return entries

    def account(self, dataset: str) -> Account:
        return _account(self.entries(), dataset)

    def state_of(self, draw_id: str) -> State | None:
        """Reserved, spent, or None where the draw was never booked (a refusal books nothing)."""
        return _state_of(self.entries(), draw_id)

    def grant(self, config: ReleaseConfig, epsilon: Fraction) -> None:
        """Add to a dataset's budget: a decision of people, on record for ever."""
        self._write(config, lambda *_: (State.GRANTED, epsilon))

    def reserve(self, config: ReleaseConfig) -> State:
        """Book the draw of a configuration before its data are read.

        Returns the state the draw is in: RESERVED, now or by an earlier run that did not finish, or SPENT. Raises
        `BudgetExceeded`, and leaves a `refused` entry, where it would overspend. A dataset that the book does not
        know yet is opened with the budget that its first configuration declares.
        """
        entries = self._write(config, _opening, _reservation)
        state = _state_of(entries, config.draw_id)
        if state is None:
            raise BudgetExceeded(_refusal(config, _account(entries, config.dataset)))
        return state

    def mark_spent(self, config: ReleaseConfig) -> None:
        """Say that the reserved draw was made. Changes nothing where the book says so already."""
        entries = self._write(config, _spending)
        if _state_of(entries, config.draw_id) is None:
            raise LedgerConflict(
                f"draw {config.draw_id} has a noisy tensor but the ledger {self._path} does not know it: "
                "the ledger was replaced or another one is configured; point `ledger` at the right one"
            )

    def _write(self, config: ReleaseConfig, *decisions: Decision) -> list[Entry]:
        """Decide by the book as it stands what to write, and write that; decide anew where another was faster.

        One decision after the other, each by a book that holds what the last one wrote. Returns that book at the end.
        """
        with exclusive(self._path.rstrip("/") + ".lock"):
            entries = self.entries()
            for decide in decisions:
                for _ in range(_ATTEMPTS):
                    line = decide(entries, config)
                    if line is None:
                        break
                    new = self._append(entries, config, *line)
                    entries = self.entries()
                    if new in entries:
                        break
                else:
                    raise LedgerConflict(f"the ledger {self._path} is too busy; try again")
        return entries

    def _append(self, entries: Sequence[Entry], config: ReleaseConfig, state: State, epsilon: Fraction) -> Entry:
        """Try to write the next entry, one in a transaction. The book tells whether another took its number first."""
        draw_id = "" if state is State.GRANTED else config.draw_id
        now, fingerprint = datetime.now(UTC), config.configuration_hash
        draft = Entry(len(entries) + 1, config.dataset, draw_id, state, epsilon, now, fingerprint, "")
        new = replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else ""))
        schema = ", ".join(f"{name} {kind}" for name, kind, _ in LEDGER.columns)
        frame = self._spark.createDataFrame([_row(new)], schema)
        create_if_missing(self._spark, self._path, LEDGER)
        with suppress(DeltaConcurrentModificationException):
            append_once(frame, self._path, LEDGER, "ledger", version=new.sequence)
        return new

    def _check_chain(self, entries: Sequence[Entry]) -> None:
        previous = ""
        for number, entry in enumerate(entries, start=1):
            if entry.sequence != number or entry.entry_hash != entry.hash_after(previous):
                raise LedgerConflict(
                    f"the ledger {self._path} was changed by hand at entry {number}. Nothing more is released until "
                    "people have found out what was spent; Delta's history shows what was changed, and when"
                )
            previous = entry.entry_hash


def _opening(entries: Sequence[Entry], config: ReleaseConfig) -> Line | None:
    if _state_of(entries, config.draw_id) is not None or _account(entries, config.dataset).granted:
        return None
    return State.GRANTED, config.privacy.budget or config.privacy.epsilon


def _reservation(entries: Sequence[Entry], config: ReleaseConfig) -> Line | None:
    if _state_of(entries, config.draw_id) is not None:
        return None
    allowed = config.privacy.epsilon <= _account(entries, config.dataset).remaining
    return State.RESERVED if allowed else State.REFUSED, config.privacy.epsilon


def _spending(entries: Sequence[Entry], config: ReleaseConfig) -> Line | None:
    reserved = _state_of(entries, config.draw_id) is State.RESERVED
    return (State.SPENT, config.privacy.epsilon) if reserved else None


def _row(entry: Entry) -> tuple[object, ...]:
    return tuple(str(value) if isinstance(value, Fraction | State) else value for value in astuple(entry))


def _entry(row: Row) -> Entry:
    return Entry(
        row.sequence,
        row.dataset,
        row.draw_id,
        State(row.state),
        Fraction(row.epsilon),
        datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=row.recorded_at),
        row.configuration_hash,
        row.entry_hash,
    )


def _account(entries: Sequence[Entry], dataset: str) -> Account:
    mine = [entry for entry in entries if entry.dataset == dataset]
    granted = sum((e.epsilon for e in mine if e.state is State.GRANTED), Fraction(0))
    # A draw that was reserved and then spent counts once.
    draws = {e.draw_id: e.epsilon for e in mine if e.state in (State.RESERVED, State.SPENT)}
    return Account(dataset, granted, sum(draws.values(), Fraction(0)))


def _state_of(entries: Sequence[Entry], draw_id: str) -> State | None:
    states = {e.state for e in entries if e.draw_id == draw_id}
    return next((state for state in (State.SPENT, State.RESERVED) if state in states), None)


def _refusal(config: ReleaseConfig, account: Account) -> str:
    requested = config.privacy.epsilon
    return (
        f"the budget of dataset `{account.dataset}` does not allow this release: requested epsilon {requested}, "
        f"granted {account.granted}, already reserved or spent {account.committed}, remaining {account.remaining}, "
        f"short by {requested - account.remaining}. Lower privacy.epsilon, or have more granted (vdr budget grant); "
        "privacy.budget only opens an account."
    )
