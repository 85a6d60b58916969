"""Accounts by their entries, apart from the table: in one currency, told in two."""

from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

import pytest

from tests.privacy.written_ledger import chain
from vdr_spark.errors import LedgerConflict
from vdr_spark.price import Price
from vdr_spark.privacy.accounting import balance
from vdr_spark.privacy.entries import State

MOMENT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


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
