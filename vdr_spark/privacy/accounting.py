"""What follows from a ledger's entries: what a dataset may still spend, and what would be too much. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from vdr_spark.conversion import describe_price, epsilon_at
from vdr_spark.errors import LedgerConflict
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Entry, Limit, State


@dataclass(frozen=True)
class Account:
    """What a dataset may still spend, all of it in the currency of its budget."""

    dataset: str
    granted: Fraction
    reserved: Fraction  # and not spent: it counts all the same
    spent: Fraction
    cap: Cap | None = None
    recent: Fraction = Fraction(0)  # reserved or spent within the cap's last window
    currency: Currency = Currency.EPSILON
    delta: Fraction | None = None  # of rho: at which people are told an epsilon

    @property
    def committed(self) -> Fraction:
        return self.reserved + self.spent

    @property
    def remaining(self) -> Fraction:
        """What may be reserved now."""
        in_all = self.granted - self.committed
        return in_all if self.cap is None else min(in_all, self.cap.price.amount - self.recent)

    def describe(self, amount: Fraction) -> str:
        """Return an amount of it in words; of rho also as an epsilon."""
        return describe_price(Price(amount, self.currency), self.delta)

    def tell_epsilon(self, amount: Fraction) -> str:
        """Return what an amount of it is as an epsilon: itself where it is pure, else rounded up, at its delta."""
        if self.currency is Currency.EPSILON:
            return str(amount)
        assert self.delta is not None  # `decisions` lets no grant of rho pass without one
        return f"{float(epsilon_at(amount, self.delta)):g}"

    def describe_spending(self) -> str:
        """Return what is taken of what was granted; of rho also what each is as an epsilon, and in which currency."""
        if self.currency is Currency.EPSILON:
            return f"{self.committed} of {self.granted}"
        return f"{self.describe(self.committed)}, of {self.describe(self.granted)}"

    def __str__(self) -> str:
        pure = self.currency is Currency.EPSILON
        taken = str(self.committed) if pure else self.describe(self.committed)
        lines = [
            f"Dataset {self.dataset}: granted {self.describe(self.granted)}, reserved or spent {taken}, remaining "
            f"{self.remaining if pure else Price.rho(self.remaining)}."
        ]
        if self.reserved:
            lines.append(f"Of it {self.reserved} is reserved by draws that were not finished; it counts all the same.")
        if self.cap is not None:
            window = f"At most {self.cap.price.amount if pure else self.cap.price} within {self.cap.window_seconds} s"
            lines.append(f"{window}, of which {self.recent} is taken.")
        return "\n".join(lines)


def find_currency(entries: Sequence[Entry], dataset: str) -> Currency | None:
    """Return the currency in which a dataset's budget is kept: that of its first grant or cap; None before it."""
    decided = (e for e in entries if e.dataset == dataset and e.state in (State.GRANTED, State.CAPPED))
    return next((entry.price.currency for entry in decided), None)


def price_of_unbooked(entries: Sequence[Entry], draws: Sequence[Draw], currency: Currency) -> Fraction:
    """Return what those of the draws that are not booked yet cost in a currency; `NoPrice` where they have none."""
    unbooked = [draw.price for draw in draws if state_of(entries, draw.draw_id) is None]
    return sum((price.amount_in(currency) for price in unbooked), Fraction(0))


def balance(entries: Sequence[Entry], dataset: str) -> Account:
    """Return the account of a dataset. A draw of pure epsilon costs epsilon**2 / 2 of a budget in rho."""
    mine = [entry for entry in entries if entry.dataset == dataset]
    currency = find_currency(mine, dataset) or Currency.EPSILON
    # A draw that was reserved and then spent counts once, from its reservation on.
    reserved = {e.draw_id: e for e in reversed(mine) if e.state is State.RESERVED}
    spent = {e.draw_id for e in mine if e.state is State.SPENT}
    costs = {draw_id: _amount(entry, currency) for draw_id, entry in reserved.items()}
    capped = next((e for e in reversed(mine) if e.state is State.CAPPED), None)
    cap = Cap(Price(_amount(capped, currency), currency), capped.window_seconds or 0) if capped else None
    recent = Fraction(0)
    if cap is not None:
        # A clock that was set back makes entries of the future: they count.
        since = datetime.now(UTC) - timedelta(seconds=cap.window_seconds)
        recent = sum((costs[e.draw_id] for e in reserved.values() if e.recorded_at > since), Fraction(0))
    return Account(
        dataset,
        granted=sum((_amount(e, currency) for e in mine if e.state is State.GRANTED), Fraction(0)),
        reserved=sum((cost for draw_id, cost in costs.items() if draw_id not in spent), Fraction(0)),
        spent=sum((cost for draw_id, cost in costs.items() if draw_id in spent), Fraction(0)),
        cap=cap,
        recent=recent,
        currency=currency,
        delta=next((e.delta for e in mine if e.state is State.GRANTED and e.delta is not None), None),
    )


def _amount(entry: Entry, currency: Currency) -> Fraction:
    """Return an entry's amount in the currency of its dataset; a grant or a cap in another one is nobody's to convert.

    Grants of epsilon that are squared one by one would not be what their sum is squared.
    """
    if entry.price.currency is currency:
        return entry.price.amount
    if entry.state in (State.GRANTED, State.CAPPED) or currency is Currency.EPSILON:
        raise LedgerConflict(
            f"entry {entry.sequence} of the ledger has {entry.price} for dataset {entry.dataset}, whose budget is kept "
            f"in {currency}: this software writes no such entry. Have people find out what was spent"
        )
    return entry.price.amount_in(currency)


@dataclass(frozen=True)
class Excess:
    """A limit that a release would exceed."""

    limit: Limit
    requested: Fraction
    taken: Fraction

    @property
    def remaining(self) -> Fraction:
        return self.limit.price.amount - self.taken


def find_excess(entries: Sequence[Entry], request: BudgetRequest) -> Excess | None:
    """Return the first limit of a request that its draws would exceed, by those that are booked already.

    A draw in rho that a limit of pure epsilon covers has no price in it: `NoPrice`.
    """
    booked = {
        e.draw_id: e.price for e in reversed(entries) if e.state is State.RESERVED and e.dataset == request.dataset
    }
    for limit in request.limits:
        currency = limit.price.currency
        requested = price_of_unbooked(entries, request.draws, currency)
        covered = [price.amount_in(currency) for draw_id, price in booked.items() if limit.covers(draw_id)]
        taken = sum(covered, Fraction(0))
        if requested and requested + taken > limit.price.amount:
            return Excess(limit, requested, taken)
    return None


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
        if (entry.price, entry.identity_sha256) != (draw.price, draw.identity_sha256):
            raise LedgerConflict(
                f"entry {entry.sequence} of the ledger has another draw under the id {draw.draw_id}, at {entry.price}; "
                f"this one costs {draw.price}. Give the release another `name`"
            )
