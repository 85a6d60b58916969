"""What is booked, and what follows from it: draws, entries, accounts. Pure; the table is the ledger's business."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction

from vdr_spark.errors import LedgerConflict


class State(StrEnum):
    GRANTED = "granted"
    CAPPED = "capped"
    RESERVED = "reserved"
    SPENT = "spent"
    REFUSED = "refused"


@dataclass(frozen=True)
class Draw:
    """One drawing of noise over a dataset, and its price."""

    draw_id: str
    epsilon: Fraction
    purpose: str  # cells, or total
    identity_sha256: str  # of everything that it depends on; its id shows the beginning


@dataclass(frozen=True)
class Cap:
    """At most `epsilon` within any stretch of `window_seconds`."""

    epsilon: Fraction
    window_seconds: int


@dataclass(frozen=True)
class BudgetRequest:
    """What a release asks of the ledger: all of its draws or none."""

    dataset: str
    draws: tuple[Draw, ...]
    opening_budget: Fraction  # granted where the ledger does not know the dataset yet
    opening_cap: Cap | None  # set with it
    configuration_hash: str


@dataclass(frozen=True)
class Posting:
    """What is to be written about a draw, or, without one, about the dataset's budget."""

    state: State
    epsilon: Fraction
    draw_id: str = ""
    purpose: str = ""
    window_seconds: int | None = None  # of a cap
    tensor_sha256: str = ""  # of a spent draw: of the noisy numbers that were stored
    identity_sha256: str = ""  # of a draw

    @classmethod
    def about(cls, draw: Draw, state: State, tensor_sha256: str = "") -> Posting:
        return cls(
            state,
            draw.epsilon,
            draw.draw_id,
            draw.purpose,
            tensor_sha256=tensor_sha256,
            identity_sha256=draw.identity_sha256,
        )


@dataclass(frozen=True)
class Entry:
    """One row of the ledger."""

    sequence: int
    dataset: str
    draw_id: str
    state: State
    epsilon: Fraction
    recorded_at: datetime
    configuration_hash: str
    entry_hash: str
    purpose: str
    window_seconds: int | None
    tensor_sha256: str
    identity_sha256: str

    def hash_after(self, previous: str) -> str:
        """Return the chain's link: a hash of everything in this entry and of the hash of the entry before."""
        own = (getattr(self, name) for name in _HASHED)
        return hashlib.sha256("\x1f".join([previous, *map(str, own)]).encode()).hexdigest()


# In this order: what an entry is known by for ever.
_HASHED = (
    "sequence",
    "dataset",
    "draw_id",
    "state",
    "epsilon",
    "recorded_at",
    "configuration_hash",
    "purpose",
    "window_seconds",
    "tensor_sha256",
    "identity_sha256",
)


@dataclass(frozen=True)
class Account:
    """What a dataset may still spend."""

    dataset: str
    granted: Fraction
    reserved: Fraction  # and not spent: it counts all the same
    spent: Fraction
    cap: Cap | None = None
    recent: Fraction = Fraction(0)  # reserved or spent within the cap's last window

    @property
    def committed(self) -> Fraction:
        return self.reserved + self.spent

    @property
    def remaining(self) -> Fraction:
        """What may be reserved now."""
        in_all = self.granted - self.committed
        return in_all if self.cap is None else min(in_all, self.cap.epsilon - self.recent)

    def __str__(self) -> str:
        lines = [
            f"Dataset {self.dataset}: granted epsilon {self.granted}, reserved or spent {self.committed}, "
            f"remaining {self.remaining}."
        ]
        if self.reserved:
            lines.append(f"Of it {self.reserved} is reserved by draws that were not finished; it counts all the same.")
        if self.cap is not None:
            window = f"At most {self.cap.epsilon} within {self.cap.window_seconds} s"
            lines.append(f"{window}, of which {self.recent} is taken.")
        return "\n".join(lines)


def price_of_unbooked(entries: Sequence[Entry], draws: Sequence[Draw]) -> Fraction:
    """Return what those of the draws cost that are not booked yet."""
    return sum((draw.epsilon for draw in draws if state_of(entries, draw.draw_id) is None), Fraction(0))


def balance(entries: Sequence[Entry], dataset: str) -> Account:
    """Return the account of a dataset."""
    mine = [entry for entry in entries if entry.dataset == dataset]
    # A draw that was reserved and then spent counts once, from its reservation on.
    reserved = {e.draw_id: e for e in reversed(mine) if e.state is State.RESERVED}
    spent = {e.draw_id for e in mine if e.state is State.SPENT}
    capped = next((e for e in reversed(mine) if e.state is State.CAPPED), None)
    cap = Cap(capped.epsilon, capped.window_seconds or 0) if capped else None
    recent = Fraction(0)
    if cap is not None:
        # A clock that was set back makes entries of the future: they count.
        since = datetime.now(UTC) - timedelta(seconds=cap.window_seconds)
        recent = sum((e.epsilon for e in reserved.values() if e.recorded_at > since), Fraction(0))
    return Account(
        dataset,
        granted=sum((e.epsilon for e in mine if e.state is State.GRANTED), Fraction(0)),
        reserved=sum((e.epsilon for e in reserved.values() if e.draw_id not in spent), Fraction(0)),
        spent=sum((e.epsilon for e in reserved.values() if e.draw_id in spent), Fraction(0)),
        cap=cap,
        recent=recent,
    )


def state_of(entries: Sequence[Entry], draw_id: str) -> State | None:
    """Return reserved, spent, or None where the draw was never booked (a refusal books nothing)."""
    states = {e.state for e in entries if e.draw_id == draw_id}
    return next((state for state in (State.SPENT, State.RESERVED) if state in states), None)


def find_spending(entries: Sequence[Entry], draw_id: str) -> Entry | None:
    """Return the entry that says a draw was made."""
    return next((e for e in entries if e.draw_id == draw_id and e.state is State.SPENT), None)


def check_same_draw(entries: Sequence[Entry], draw: Draw) -> None:
    """Refuse another draw booked under the draw's id: ids are short, and someone may look for two that meet."""
    for entry in entries:
        if entry.draw_id != draw.draw_id or entry.state not in (State.RESERVED, State.SPENT):
            continue
        if (entry.epsilon, entry.identity_sha256) != (draw.epsilon, draw.identity_sha256):
            raise LedgerConflict(
                f"entry {entry.sequence} of the ledger has another draw under the id {draw.draw_id}, at epsilon "
                f"{entry.epsilon}; this one costs {draw.epsilon}. Give the release another `name`"
            )
