"""A ledger written by delta-rs: as good as Spark's to a reader, and there in a moment."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pyarrow as pa
from deltalake import write_deltalake

from vdr_spark.price import Currency, Price
from vdr_spark.privacy.entries import Entry, Posting, State
from vdr_spark.privacy.ledger_store import to_row
from vdr_spark.storage.schemas import LEDGER

DELTA = Fraction(1, 10**9)

KINDS = {"sequence": pa.int64(), "window_seconds": pa.int64(), "recorded_at": pa.timestamp("us", "UTC")}


def chain(dataset: str, *bookings: tuple[State, int | Price, str]) -> list[Entry]:
    """Entries, each with the hash of the one before; a booking is a state, an epsilon or a price, and a draw's id."""
    entries: list[Entry] = []
    for number, (state, amount, draw_id) in enumerate(bookings, start=1):
        moment = datetime(2026, 1, number, tzinfo=UTC)
        price = amount if isinstance(amount, Price) else Price.epsilon(amount)
        delta = DELTA if state is State.GRANTED and price.currency is Currency.RHO else None
        draft = Posting(state, price, draw_id, delta=delta).enter(number, dataset, moment, "")
        entries.append(replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else "")))
    return entries


def write_ledger(path: str, entries: Sequence[Entry]) -> None:
    """Write a ledger as it was before there was rho, where none of its entries has one."""
    rows = [to_row(entry) for entry in entries]
    if all(entry.rho is None for entry in entries):
        rows = [{name: value for name, value in row.items() if name not in LEDGER.later_than(1)} for row in rows]
    schema = pa.schema([(name, KINDS.get(name, pa.string())) for name in rows[0]])
    write_deltalake(path, pa.Table.from_pylist(rows, schema=schema))
