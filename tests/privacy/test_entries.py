"""Entries of the ledger, apart from the table: what their hashes cover."""

import hashlib
from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from vdr_spark.price import Price
from vdr_spark.privacy.entries import Entry, Posting, State

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_every_field_of_an_entry_is_in_its_hash() -> None:
    """What is not hashed could be edited."""
    entry = Entry(2, "city", "demo-1", State.SPENT, Fraction(1, 3), MOMENT, "abc", "", "cells", None, "ten", "id")
    parts = ["before", "2", "city", "demo-1", "spent", "1/3", "2026-01-02 03:04:05+00:00", "abc", "cells", "None"]
    assert entry.hash_after("before") == hashlib.sha256("\x1f".join([*parts, "ten", "id"]).encode()).hexdigest()
    others = {"sequence": 3, "state": State.RESERVED, "epsilon": Fraction(1), "recorded_at": datetime.now(UTC)}
    others |= {"delta": Fraction(1, 9)}
    for field in fields(Entry):
        if field.name not in ("entry_hash", "rho"):
            other = replace(entry, **{field.name: others.get(field.name, "other")})
            assert other.hash_after("before") != entry.hash_after("before"), field.name


def test_an_entry_in_rho_has_that_in_its_hash_and_one_from_before_the_hash_it_had() -> None:
    entry = Posting(State.GRANTED, Price.rho("1/3"), delta=Fraction(1, 10)).enter(1, "city", MOMENT, "abc")
    parts = ["", "1", "city", "", "granted", "None", "2026-01-02 03:04:05+00:00", "abc", "", "None", "", ""]
    later = ["rho=1/3", "delta=1/10"]
    assert entry.hash_after("") == hashlib.sha256("\x1f".join([*parts, *later]).encode()).hexdigest()
    assert replace(entry, rho=Fraction(1)).hash_after("") != entry.hash_after("")
    assert replace(entry, delta=None).hash_after("") != entry.hash_after("")
    pure = replace(entry, rho=None, epsilon=Fraction(1, 3))
    assert pure.hash_after("") != entry.hash_after("")


@pytest.mark.parametrize(("epsilon", "rho"), [(None, None), (Fraction(1), Fraction(1))])
def test_an_entry_has_one_currency(epsilon: Fraction | None, rho: Fraction | None) -> None:
    with pytest.raises(ValueError, match="either an epsilon or a rho"):
        Entry(1, "city", "", State.GRANTED, epsilon, MOMENT, "", "", "", None, "", "", rho)
