"""A ledger written by delta-rs: as good as Spark's to a reader, and there in a moment."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pyarrow as pa
from deltalake import write_deltalake

from vdr_spark.privacy.accounting import Entry, State

KINDS = {"sequence": pa.int64(), "window_seconds": pa.int64(), "recorded_at": pa.timestamp("us", "UTC")}


def chain(dataset: str, *bookings: tuple[State, int, str]) -> list[Entry]:
    """Entries, each with the hash of the one before; a booking is a state, an epsilon and a draw's id."""
    entries: list[Entry] = []
    for number, (state, epsilon, draw_id) in enumerate(bookings, start=1):
        moment = datetime(2026, 1, number, tzinfo=UTC)
        draft = Entry(number, dataset, draw_id, state, Fraction(epsilon), moment, "", "", "", None, "", "")
        entries.append(replace(draft, entry_hash=draft.hash_after(entries[-1].entry_hash if entries else "")))
    return entries


def write_ledger(path: str, entries: Sequence[Entry]) -> None:
    rows = [vars(entry) | {"state": str(entry.state), "epsilon": str(entry.epsilon)} for entry in entries]
    schema = pa.schema([(name, KINDS.get(name, pa.string())) for name in rows[0]])
    write_deltalake(path, pa.Table.from_pylist(rows, schema=schema))
