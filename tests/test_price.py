"""Prices in two currencies: exact, with a way from pure epsilon to rho and none back."""

from fractions import Fraction

import pytest

from vdr_spark.price import Currency, NoPrice, Price


def test_pure_epsilon_is_rho_by_half_its_square_and_exactly() -> None:
    assert Price.epsilon("1/3").amount_in(Currency.RHO) == Fraction(1, 18)
    assert Price.epsilon("1/3").amount_in(Currency.EPSILON) == Fraction(1, 3)


@pytest.mark.parametrize("rho", ["1e-18", "1000"])
def test_rho_is_no_epsilon_however_small(rho: str) -> None:
    with pytest.raises(NoPrice, match="is no pure epsilon"):
        Price.rho(rho).amount_in(Currency.EPSILON)


def test_shares_add_up_and_keep_the_currency() -> None:
    whole, share = Price.rho("0.7"), Fraction(1, 20)
    parts = whole.share(share), whole.share(1 - share)
    assert {part.currency for part in parts} == {Currency.RHO}
    assert sum(part.amount for part in parts) == whole.amount
    assert str(whole) == "rho 7/10"
