"""What stands in the budget book, and what follows from it. Pure: the table is the ledger's business."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from fractions import Fraction

from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.errors import LedgerConflict


class State(StrEnum):
    GRANTED = "granted"
    CAPPED = "capped"
    RESERVED = "reserved"
    SPENT = "spent"
    REFUSED = "refused"


@dataclass(frozen=True)
class Line:
    """What is to be written about a draw, or, without one, about the dataset's budget."""

    state: State
    epsilon: Fraction
    draw_id: str = ""
    purpose: str = ""  # of a draw: cells, or total
    per_seconds: int | None = None  # of a cap
    evidence: str = ""  # of a spent draw: SHA-256 of what was drawn
    draw_digest: str = ""  # of a draw: SHA-256 of its settings


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
    purpose: str = ""
    per_seconds: int | None = None
    evidence: str = ""
    draw_digest: str = ""

    def hash_after(self, previous: str) -> str:
        """The chain's link: of everything in this entry and the hash of the entry before."""
        always = (self.sequence, self.dataset, self.draw_id, self.state, self.epsilon, self.recorded_at)
        parts = [previous, *map(str, always), self.configuration_hash]
        # Books of the first version do not have these: what is not there is not hashed.
        more = ("purpose", "per_seconds", "evidence", "draw_digest")
        parts += [f"{name}={value}" for name in more if (value := getattr(self, name))]
        return hashlib.sha256("\x1f".join(parts).encode()).hexdigest()


@dataclass(frozen=True)
class Account:
    """What a dataset may still spend."""

    dataset: str
    granted: Fraction
    reserved: Fraction  # and not spent: it counts all the same
    spent: Fraction
    cap: Fraction | None = None  # within any stretch of `per_seconds`
    per_seconds: int | None = None
    recent: Fraction = Fraction(0)  # reserved or spent within the last such stretch

    @property
    def committed(self) -> Fraction:
        return self.reserved + self.spent

    @property
    def remaining(self) -> Fraction:
        """What may be reserved now."""
        in_all = self.granted - self.committed
        return in_all if self.cap is None else min(in_all, self.cap - self.recent)


def wanted(entries: Sequence[Entry], config: ReleaseConfig) -> Fraction:
    """What the draws of a configuration cost that are not booked yet."""
    missing = [draw.epsilon for draw in config.draws if state_of(entries, draw.draw_id) is None]
    return sum(missing, Fraction(0))


def account(entries: Sequence[Entry], dataset: str) -> Account:
    mine = [entry for entry in entries if entry.dataset == dataset]
    # A draw that was reserved and then spent counts once, from its reservation on.
    reserved = {e.draw_id: e for e in reversed(mine) if e.state is State.RESERVED}
    spent = {e.draw_id for e in mine if e.state is State.SPENT}
    cap = next((e for e in reversed(mine) if e.state is State.CAPPED), None)
    recent = Fraction(0)
    if cap is not None:
        # A clock that was set back makes entries of the future: they count.
        since = datetime.now(UTC) - timedelta(seconds=cap.per_seconds or 0)
        recent = sum((e.epsilon for e in reserved.values() if e.recorded_at > since), Fraction(0))
    return Account(
        dataset,
        granted=sum((e.epsilon for e in mine if e.state is State.GRANTED), Fraction(0)),
        reserved=sum((e.epsilon for e in reserved.values() if e.draw_id not in spent), Fraction(0)),
        spent=sum((e.epsilon for e in reserved.values() if e.draw_id in spent), Fraction(0)),
        cap=cap.epsilon if cap else None,
        per_seconds=cap.per_seconds if cap else None,
        recent=recent,
    )


def state_of(entries: Sequence[Entry], draw_id: str) -> State | None:
    states = {e.state for e in entries if e.draw_id == draw_id}
    return next((state for state in (State.SPENT, State.RESERVED) if state in states), None)


def spending_of(entries: Sequence[Entry], draw_id: str) -> Entry | None:
    return next((e for e in entries if e.draw_id == draw_id and e.state is State.SPENT), None)


def check_same_draw(entries: Sequence[Entry], draw: Draw) -> None:
    """What is booked under the draw's id must be that draw: ids are short, and someone may look for two that meet."""
    for entry in entries:
        if entry.draw_id != draw.draw_id or entry.state not in (State.RESERVED, State.SPENT):
            continue
        # Books of the first version have no digests.
        if entry.epsilon != draw.epsilon or entry.draw_digest not in ("", draw.digest):
            raise LedgerConflict(
                f"entry {entry.sequence} of the ledger has another draw under the id {draw.draw_id}, at epsilon "
                f"{entry.epsilon}; this one costs {draw.epsilon}. Give the release another `name`"
            )
