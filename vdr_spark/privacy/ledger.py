"""The ledger: one Delta table that says what every release of a dataset reserved and spent.

An entry is written before any data are read. A reservation counts against the budget from then on, whether or not
it is ever spent. Entries are numbered, and a number is given out once: it is the version of the Delta transaction that
writes the entry, and Delta lets one transaction of a version through, whoever else tries it before, after or at the
same moment. So two releases at once cannot both take the last epsilon. Each entry carries a hash of itself and its
predecessor, which shows edits; a witness outside the book (`privacy.witness`) shows that its end is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaTable
from pyspark.sql import SparkSession

from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.errors import BudgetExceeded, LedgerConflict
from vdr_spark.privacy import accounting
from vdr_spark.privacy.accounting import Account, Entry, Line, State
from vdr_spark.privacy.ledger_head import Witness
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.tables import LEDGER, append_once, create_if_missing, renew_constraints, rows_of
from vdr_spark.storage.workspace import Workspace

_ATTEMPTS = 20  # a competitor gets in between at most once per entry it writes


Decision = Callable[[Sequence[Entry], ReleaseConfig], Line | None]


class Ledger:
    """The budget book at a path. All methods read the table anew: another process may have written."""

    def __init__(self, spark: SparkSession, path: str, witness: str | None = None):
        self._spark = spark
        self._path = path
        self._witness = Witness(witness or path.rstrip("/") + ".witness.json")

    @classmethod
    def of(cls, spark: SparkSession, config: ReleaseConfig) -> Ledger:
        workspace = Workspace.of(config)
        return cls(spark, workspace.ledger, workspace.witness)

    def entries(self) -> list[Entry]:
        """All entries in order, after checking that none was edited, taken out, put in between or cut off."""
        seen = self._witness.last_seen()  # before the book: another process may write an entry in between
        entries = self._read()
        self._check_chain(entries)
        if self._witness.contradicts(seen, entries):
            raise LedgerConflict(
                f"the ledger {self._path} has {len(entries)} entries, but its witness {self._witness.path} saw entry "
                f"{seen.sequence} with another ending: the ledger was cut off, replaced or deleted. Nothing more is "
                "released until it is restored (Delta's history, a backup), or people have found out what was spent"
            )
        return entries

    def account(self, dataset: str) -> Account:
        return accounting.account(self.entries(), dataset)

    def state_of(self, draw_id: str) -> State | None:
        """Reserved, spent, or None where the draw was never booked (a refusal books nothing)."""
        return accounting.state_of(self.entries(), draw_id)

    def spending_of(self, draw: Draw) -> Entry | None:
        """The entry that says the draw was made."""
        entries = self.entries()
        accounting.check_same_draw(entries, draw)
        return accounting.spending_of(entries, draw.draw_id)

    def grant(self, config: ReleaseConfig, epsilon: Fraction) -> None:
        """Add to a dataset's budget: a decision of people, on record for ever."""
        self._write(config, lambda *_: Line(State.GRANTED, epsilon))

    def cap(self, config: ReleaseConfig, epsilon: Fraction, per_seconds: int) -> None:
        """Limit how fast the dataset's budget may be spent, from now on."""
        self._write(config, lambda *_: Line(State.CAPPED, epsilon, per_seconds=per_seconds))

    def reserve(self, config: ReleaseConfig) -> State:
        """Book all draws of a configuration before its data are read.

        Returns the state of its cells: RESERVED, now or by an earlier run that did not finish, or SPENT. Raises
        `BudgetExceeded`, and leaves a `refused` entry, where they would overspend. A dataset that the book does not
        know yet is opened with the budget that its first configuration declares.
        """
        entries = self._write(config, _opening, _opening_cap, *map(_reservation, config.draws))
        states = [accounting.state_of(entries, draw.draw_id) for draw in config.draws]
        if states[-1] is None or None in states:
            raise BudgetExceeded(
                _refusal(config, accounting.wanted(entries, config), accounting.account(entries, config.dataset))
            )
        return states[-1]

    def mark_spent(self, config: ReleaseConfig, draw: Draw, evidence: str) -> None:
        """Say that a reserved draw was made, and what came of it. Changes nothing where the book says so already.

        Where the book says that something else came of it, this is a second drawing for one price, and refused.
        """
        entries = self._write(config, _spending(draw, evidence))
        spent = accounting.spending_of(entries, draw.draw_id)
        if spent is not None and spent.evidence not in ("", evidence):
            raise LedgerConflict(
                f"draw {draw.draw_id} was made before, and the ledger {self._path} has the sum of other numbers than "
                "those stored here: two drawings for one price, or a tensor that was changed. Nothing of it may be "
                "published. Bring back the folder with the first one, and destroy this one"
            )
        if spent is None:
            raise LedgerConflict(
                f"draw {draw.draw_id} has a noisy tensor but the ledger {self._path} does not know it: "
                "the ledger was replaced or another one is configured; point `ledger` at the right one"
            )

    def _read(self) -> list[Entry]:
        if not DeltaTable.isDeltaTable(self._spark, self._path):
            return []
        rows = rows_of(self._spark.read.format("delta").load(self._path))
        return [_entry(row) for row in sorted(rows, key=lambda row: int(row["sequence"]))]

    def _write(self, config: ReleaseConfig, *decisions: Decision) -> list[Entry]:
        """Decide by the book as it stands what to write, and write that; decide anew where another was faster.

        One decision after the other, each by a book that holds what the last one wrote. Returns that book at the end.
        """
        with exclusive(self._path.rstrip("/") + ".lock"):
            entries = self.entries()
            if entries:
                # Its writer may have been killed before it told the witness. One that cannot be told stops us here.
                self._witness.see(entries[-1])
            for decide in decisions:
                for _ in range(_ATTEMPTS):
                    line = decide(entries, config)
                    if line is None:
                        break
                    new = self._append(entries, config, line)
                    entries = self.entries()
                    if new in entries:
                        self._witness.see(new)
                        break
                else:
                    raise LedgerConflict(f"the ledger {self._path} is too busy; try again")
        return entries

    def _append(self, entries: Sequence[Entry], config: ReleaseConfig, line: Line) -> Entry:
        """Try to write the next entry, one in a transaction. The book tells whether another took its number first."""
        draft = Entry(
            sequence=len(entries) + 1,
            dataset=config.dataset,
            recorded_at=datetime.now(UTC),
            configuration_hash=config.configuration_hash,
            entry_hash="",
            **vars(line),
        )
        new = replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else ""))
        schema = ", ".join(f"{name} {kind}" for name, kind, _ in LEDGER.columns)
        frame = self._spark.createDataFrame([_row(new)], schema)
        create_if_missing(self._spark, self._path, LEDGER)
        if line.state is State.CAPPED:
            renew_constraints(self._spark, self._path, LEDGER)  # books of the first version know no caps
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
    known = any(entry.dataset == config.dataset and entry.state is State.GRANTED for entry in entries)
    return None if known else Line(State.GRANTED, config.privacy.budget or config.privacy.epsilon)


def _opening_cap(entries: Sequence[Entry], config: ReleaseConfig) -> Line | None:
    cap = config.privacy.cap
    # Only an account that nothing was asked of yet: afterwards a cap is a decision of people (`vdr budget cap`).
    new = all(entry.state is State.GRANTED for entry in entries if entry.dataset == config.dataset)
    return Line(State.CAPPED, cap.epsilon, per_seconds=cap.per) if cap and new else None


def _reservation(draw: Draw) -> Decision:
    def decide(entries: Sequence[Entry], config: ReleaseConfig) -> Line | None:
        if accounting.state_of(entries, draw.draw_id) is not None:
            accounting.check_same_draw(entries, draw)
            return None
        before = config.draws[: config.draws.index(draw)]
        if any(accounting.state_of(entries, other.draw_id) is None for other in before):
            return None  # refused already
        # All draws of the release or none: half of them would be paid for and useless.
        allowed = accounting.wanted(entries, config) <= accounting.account(entries, config.dataset).remaining
        return _line(State.RESERVED if allowed else State.REFUSED, draw)

    return decide


def _spending(draw: Draw, evidence: str) -> Decision:
    def decide(entries: Sequence[Entry], _: ReleaseConfig) -> Line | None:
        accounting.check_same_draw(entries, draw)
        if accounting.state_of(entries, draw.draw_id) is not State.RESERVED:
            return None
        return _line(State.SPENT, draw, evidence)

    return decide


def _line(state: State, draw: Draw, evidence: str = "") -> Line:
    return Line(state, draw.epsilon, draw.draw_id, draw.purpose, evidence=evidence, draw_digest=draw.digest)


def _row(entry: Entry) -> tuple[object, ...]:
    values = {field.name: value for field, value in zip(fields(Entry), astuple(entry), strict=True)}
    texts = {name: str(value) if isinstance(value, Fraction | State) else value for name, value in values.items()}
    return tuple(texts[name] for name, _, _ in LEDGER.columns)


def _entry(row: dict[str, Any]) -> Entry:
    typed = {"state": State(row["state"]), "epsilon": Fraction(row["epsilon"])}
    # A book of the first version lacks columns; so do its entries' hashes.
    texts = {name: row.get(name) or "" for name in ("purpose", "evidence", "draw_digest")}
    return Entry(**(row | typed | texts | {"per_seconds": row.get("per_seconds")}))


def _refusal(config: ReleaseConfig, requested: Fraction, account: Account) -> str:
    cap = (
        f"at most {account.cap} within {account.per_seconds} s, of which {account.recent} is taken, "
        if account.cap is not None
        else ""
    )
    return (
        f"the budget of dataset `{config.dataset}` does not allow this release: requested epsilon {requested}, "
        f"granted {account.granted}, already reserved or spent {account.committed}, {cap}remaining "
        f"{account.remaining}, short by {requested - account.remaining}. Lower privacy.epsilon, or have more granted "
        "(vdr budget grant); privacy.budget and privacy.cap only open an account."
    )
