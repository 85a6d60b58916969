"""Entries of the ledger, apart from the table: what their hashes cover."""

import hashlib
from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction

from vdr_spark.privacy.accounting import Entry, State


def test_every_field_of_an_entry_is_in_its_hash() -> None:
    """What is not hashed could be edited."""
    moment = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    entry = Entry(2, "city", "demo-1", State.SPENT, Fraction(1, 3), moment, "abc", "", "cells", None, "ten", "id")
    parts = ["before", "2", "city", "demo-1", "spent", "1/3", "2026-01-02 03:04:05+00:00", "abc", "cells", "None"]
    assert entry.hash_after("before") == hashlib.sha256("\x1f".join([*parts, "ten", "id"]).encode()).hexdigest()
    others = {"sequence": 3, "state": State.RESERVED, "epsilon": Fraction(1), "recorded_at": datetime.now(UTC)}
    for field in fields(Entry):
        if field.name != "entry_hash":
            other = replace(entry, **{field.name: others.get(field.name, "other")})
            assert other.hash_after("before") != entry.hash_after("before"), field.name
