"""Entries of the ledger, apart from the table: what their hashes cover."""

import hashlib
from dataclasses import fields, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

from tests.privacy.written_ledger import chain
from vdr_spark.errors import LedgerConflict
from vdr_spark.price import Price
from vdr_spark.privacy.accounting import Entry, Posting, State, balance

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


def test_an_account_in_rho_speaks_both_languages() -> None:
    entries = chain(
        "city",
        (State.GRANTED, Price.rho(1), ""),
        (State.RESERVED, Price.rho("1/4"), "a"),
        (State.SPENT, Price.rho("1/4"), "a"),
        (State.RESERVED, Price.epsilon("1/2"), "b"),
    )
    account = balance(entries, "city")
    assert (account.spent, account.reserved, account.remaining) == (Fraction(1, 4), Fraction(1, 8), Fraction(5, 8))
    for words in (
        "granted rho 1, which is epsilon 9.5",
        "reserved or spent rho 3/8, which is epsilon 5.5",
        "at delta 1e-9, remaining rho 5/8.",
    ):
        assert words in str(account)
    assert account.describe_spending().startswith("rho 3/8, which is epsilon 5.5")


def test_an_account_in_pure_epsilon_is_told_as_ever() -> None:
    account = balance(chain("city", (State.GRANTED, 9, ""), (State.RESERVED, 6, "a")), "city")
    assert str(account).startswith("Dataset city: granted epsilon 9, reserved or spent 6, remaining 3.\nOf it 6 is")
    assert (account.describe_spending(), account.tell_epsilon(Fraction(9))) == ("6 of 9", "9")


@pytest.mark.parametrize(
    "bookings",
    [
        [(State.GRANTED, 9, ""), (State.GRANTED, Price.rho(1), "")],
        [(State.GRANTED, Price.rho(1), ""), (State.GRANTED, 9, "")],
        [(State.GRANTED, Price.rho(1), ""), (State.CAPPED, 9, "")],
        [(State.GRANTED, 9, ""), (State.RESERVED, Price.rho(1), "a")],
    ],
)
def test_what_this_software_never_writes_is_not_converted_but_told(bookings: list[tuple[State, Any, str]]) -> None:
    with pytest.raises(LedgerConflict, match=r"entry 2 of the ledger has .*this software writes no such entry"):
        balance(chain("city", *bookings), "city")
