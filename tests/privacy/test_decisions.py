"""What may be written next: a budget has one currency, draws are counted exactly in it, the rest is refused."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from tests.privacy.written_ledger import DELTA, chain
from vdr_spark.errors import OtherCurrency
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.accounting import balance
from vdr_spark.privacy.decisions import (
    decide_cap,
    decide_grant,
    decide_opening,
    decide_opening_cap,
    decide_reservation,
    describe_refusal,
    require_same_currency,
)
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Entry, Grant, Posting, State

IN_RHO = chain("city", (State.GRANTED, Price.rho(1), ""))
IN_EPSILON = chain("city", (State.GRANTED, 6, ""))


def request_of(*prices: Price, said: Currency | None = None) -> BudgetRequest:
    draws = tuple(Draw(f"draw-{number}", price, "cells", "") for number, price in enumerate(prices))
    delta = DELTA if prices[0].currency is Currency.RHO else None
    return BudgetRequest("city", draws, Grant(prices[0], delta), None, "", said)


def book(entries: list[Entry], *requests: BudgetRequest) -> list[State]:
    """Let each request book its draws, and return what was decided on each of them."""
    decided = []
    for request in requests:
        for draw in request.draws:
            posting = decide_reservation(request, draw)(entries)
            if posting is not None:
                entries.append(posting.enter(len(entries) + 1, "city", datetime.now(UTC), ""))
                decided.append(posting.state)
    return decided


def named(name: str, price: Price) -> BudgetRequest:
    return BudgetRequest("city", (Draw(name, price, "cells", ""),), Grant(price, DELTA), None, "")


def test_a_budget_in_rho_is_spent_to_the_last_fraction_and_no_further() -> None:
    entries, third = list(IN_RHO), Price.rho("1/3")
    states = book(entries, *(named(name, third) for name in "abc"), named("d", Price.rho(Fraction(1, 10**18))))
    assert states == [State.RESERVED] * 3 + [State.REFUSED]
    account = balance(entries, "city")
    assert (account.committed, account.remaining, account.currency) == (1, 0, Currency.RHO)


def test_pure_draws_cost_half_their_square_of_a_budget_in_rho() -> None:
    entries = list(IN_RHO)
    assert book(entries, named("a", Price.epsilon(1)), named("b", Price.rho("1/2"))) == [State.RESERVED] * 2
    assert balance(entries, "city").committed == 1
    assert book(entries, named("c", Price.epsilon(Fraction(1, 10**9)))) == [State.REFUSED]
    assert [entry.price for entry in entries[1:3]] == [Price.epsilon(1), Price.rho("1/2")]  # each in its own currency


def test_all_draws_of_a_release_or_none() -> None:
    """Of a sum that does not fit, the first draw alone would."""
    entries, request = list(IN_RHO), request_of(Price.epsilon(1), Price.epsilon("11/10"))
    assert book(entries, request) == [State.REFUSED]
    refusal = describe_refusal(request, entries)
    assert "requested rho 221/200 (epsilon^2 / 2 of each draw), granted 1" in refusal
    assert "short by 21/200. Lower privacy.epsilon" in refusal


def test_a_gaussian_draw_has_no_price_in_a_pure_budget() -> None:
    entries = list(IN_EPSILON)
    with pytest.raises(
        OtherCurrency, match=r"kept in pure epsilon, in which privacy.rho has no price.*Nothing was booked"
    ):
        book(entries, named("a", Price.rho(Fraction(1, 10**18))))
    assert entries == IN_EPSILON


@pytest.mark.parametrize(
    ("entries", "request_", "words"),
    [
        (IN_RHO, request_of(Price.epsilon(1), said=Currency.EPSILON), "is in epsilon, and the ledger keeps .* in rho"),
        (IN_EPSILON, request_of(Price.epsilon(1), said=Currency.RHO), "is in rho, and the ledger keeps .* in epsilon"),
    ],
)
def test_a_ledger_of_the_other_currency_is_refused(entries: list[Entry], request_: BudgetRequest, words: str) -> None:
    for decide in (decide_opening(request_), decide_reservation(request_, request_.draws[0])):
        with pytest.raises(OtherCurrency, match=f"privacy.budget {words}"):
            decide(entries)


def test_who_does_not_say_a_currency_takes_the_ledger_s() -> None:
    require_same_currency(IN_RHO, request_of(Price.epsilon(1)))
    require_same_currency([], request_of(Price.rho(1), said=Currency.RHO))
    assert decide_opening(request_of(Price.epsilon(1)))(IN_RHO) is None
    assert decide_opening(request_of(Price.rho(1)))([]) == Posting(State.GRANTED, Price.rho(1), delta=DELTA)


def test_grants_and_caps_are_in_the_currency_of_the_budget() -> None:
    with pytest.raises(OtherCurrency, match=r"kept in rho, and a grant must be in it, not in epsilon.*--currency rho"):
        decide_grant("city", Grant(Price.epsilon(1)))(IN_RHO)
    with pytest.raises(OtherCurrency, match="kept in epsilon, and a cap must be in it, not in rho"):
        decide_cap("city", Cap(Price.rho(1), 60))(IN_EPSILON)
    assert decide_grant("other", Grant(Price.epsilon(1)))(IN_RHO) is not None  # of another dataset


def test_a_grant_of_rho_has_the_delta_of_the_first() -> None:
    more = decide_grant("city", Grant(Price.rho(2)))(IN_RHO)
    assert more == Posting(State.GRANTED, Price.rho(2), delta=DELTA)
    with pytest.raises(OtherCurrency, match="opened with a delta of 1/1000000000, and a grant must not name another"):
        decide_grant("city", Grant(Price.rho(2), Fraction(1, 10)))(IN_RHO)
    with pytest.raises(OtherCurrency, match=r"a first grant of rho must say its delta.*--delta 1e-9"):
        decide_grant("city", Grant(Price.rho(2)))([])


def test_a_cap_that_came_first_decides_the_currency() -> None:
    capped = chain("city", (State.CAPPED, Price.rho(1), ""))
    with pytest.raises(OtherCurrency, match="kept in rho, and a grant must be in it"):
        decide_opening(request_of(Price.epsilon(1)))(capped)


def test_a_cap_counts_in_the_currency_of_the_budget() -> None:
    request = BudgetRequest("city", (), Grant(Price.rho(9), DELTA), Cap(Price.rho(1), 3600), "")
    entries = chain("city", (State.GRANTED, Price.rho(9), ""))
    posting = decide_opening_cap(request)(entries)
    assert posting is not None
    entries.append(posting.enter(2, "city", datetime.now(UTC), ""))
    assert book(entries, named("a", Price.epsilon(1)), named("b", Price.epsilon(2))) == [State.RESERVED, State.REFUSED]
    assert balance(entries, "city").recent == Fraction(1, 2)
