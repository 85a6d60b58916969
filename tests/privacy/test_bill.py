"""A further draw is announced with what it adds; a first one, a booked one and a refused one are not."""

from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction

import pytest

from tests.privacy.written_ledger import chain
from vdr_spark.price import Price
from vdr_spark.privacy.bill import Bill, prepare_bill
from vdr_spark.privacy.entries import BudgetRequest, Cap, Draw, Entry, Grant, State

TOTAL = Draw("city-total-1", Price.epsilon("1/2"), "total", "")
CELLS = Draw("second-2", Price.epsilon("3/2"), "cells", "")
EARLIER = Draw("first-1", Price.epsilon(2), "cells", "")
REQUEST = BudgetRequest("city", (TOTAL, CELLS), Grant(Price.epsilon(9)), None, "")


def entry(state: State, draw: Draw | None = None, epsilon: Fraction = Fraction(9), dataset: str = "city") -> Entry:
    draw_id, price = (draw.draw_id, draw.price.amount) if draw else ("", epsilon)
    return Entry(1, dataset, draw_id, state, price, datetime.now(UTC), "", "", "", None, "", "")


GRANTED, RESERVED, SPENT = entry(State.GRANTED), entry(State.RESERVED, EARLIER), entry(State.SPENT, EARLIER)


@pytest.mark.parametrize("earlier", [[RESERVED], [RESERVED, SPENT]], ids=["reserved", "spent"])
def test_a_further_draw_is_added_up(earlier: list[Entry]) -> None:
    bill = prepare_bill([GRANTED, *earlier], REQUEST)
    assert bill == Bill("city", before=Fraction(2), added=Fraction(2), granted=Fraction(9))
    for words in ("epsilon 2 is spent or reserved", "this adds 2", "the sum is then 4", "5 of 9 granted is left"):
        assert words in str(bill)
    assert "at up to 54.6 to 1" in str(bill)


def test_the_sum_is_judged_not_the_addition() -> None:
    assert "epsilon 12 is a weak promise" in str(Bill("city", Fraction(11), Fraction(1), Fraction(20)))
    assert "epsilon 60 is no protection worth the name" in str(Bill("city", Fraction(59), Fraction(1), Fraction(99)))


def test_what_is_booked_already_is_not_added_again() -> None:
    """The estimate of N is shared: a release that finds it booked adds its cells alone."""
    bill = prepare_bill([GRANTED, RESERVED, SPENT, entry(State.RESERVED, TOTAL)], REQUEST)
    assert bill is not None
    assert (bill.before, bill.added) == (Fraction(5, 2), Fraction(3, 2))


@pytest.mark.parametrize(
    "entries",
    [
        pytest.param([], id="a ledger that is not there yet"),
        pytest.param([GRANTED], id="the first draw"),
        pytest.param([GRANTED, entry(State.REFUSED, EARLIER)], id="a refusal before it"),
        pytest.param([GRANTED, entry(State.RESERVED, EARLIER, dataset="other")], id="draws over others"),
        pytest.param([GRANTED, entry(State.RESERVED, TOTAL)], id="the first draw, killed between its reservations"),
        pytest.param(
            [GRANTED, RESERVED, entry(State.RESERVED, TOTAL), entry(State.RESERVED, CELLS)], id="a run taken up"
        ),
        pytest.param([entry(State.GRANTED, epsilon=Fraction(3)), RESERVED], id="more than is left"),
    ],
)
def test_nothing_to_tell(entries: list[Entry]) -> None:
    assert prepare_bill(entries, REQUEST) is None


def test_what_a_cap_will_refuse_is_not_announced() -> None:
    cap = Cap(Price.epsilon(3), 86_400)
    capped = replace(entry(State.CAPPED, epsilon=cap.price.amount), window_seconds=cap.window_seconds)
    assert prepare_bill([GRANTED, capped, RESERVED], REQUEST) is None


def test_a_bill_in_rho_is_judged_by_the_epsilon_of_the_sum() -> None:
    ledger = chain("city", (State.GRANTED, Price.rho(9), ""), (State.RESERVED, Price.rho(1), "first-1"))
    bill = prepare_bill(ledger, REQUEST)
    assert bill is not None
    assert (bill.before, bill.added) == (1, Fraction(5, 4))  # (1/2)^2 / 2 + (3/2)^2 / 2
    assert "draws add up: rho 1 is spent or reserved, this adds 5/4, the sum is then 9/4, and 27/4 of 9" in str(bill)
    assert "As a sum, epsilon 15.16 at delta 1e-9 is a weak promise" in str(bill)


def test_what_has_no_price_in_the_ledger_s_currency_is_not_announced() -> None:
    gaussian = replace(REQUEST, draws=(Draw("second-2", Price.rho(1), "cells", ""),))
    assert prepare_bill([GRANTED, RESERVED], gaussian) is None
