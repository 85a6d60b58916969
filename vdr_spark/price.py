"""What a draw costs in privacy, exactly, and in which currency: pure epsilon, or rho of zero-concentrated privacy.

Prices in one currency add up over draws, whatever each of them depends on, and a budget is kept in one of them. Pure
epsilon promises more: a draw of epsilon is also one of rho = epsilon**2 / 2 (Bun and Steinke 2016, proposition 1.4, as
exact as epsilon is), while no rho, however small, is any epsilon. So there is a way from the first to the second, and
none back. All of it is in fractions: whether a budget allows a draw is not for a rounding error to say.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Currency(StrEnum):
    """In what a price is counted."""

    EPSILON = "epsilon"
    """Pure differential privacy."""
    RHO = "rho"
    """Zero-concentrated differential privacy."""


class NoPrice(ValueError):
    """A price was asked for in a currency in which it has none."""


@dataclass(frozen=True)
class Price:
    """An exact amount of a currency."""

    amount: Fraction
    currency: Currency

    @classmethod
    def epsilon(cls, amount: Fraction | int | str) -> Price:
        return cls(Fraction(amount), Currency.EPSILON)

    @classmethod
    def rho(cls, amount: Fraction | int | str) -> Price:
        return cls(Fraction(amount), Currency.RHO)

    def amount_in(self, currency: Currency) -> Fraction:
        """Return what it is in a currency, exactly; `NoPrice` where rho would have to be pure epsilon."""
        if currency is self.currency:
            return self.amount
        if self.currency is Currency.EPSILON:
            return self.amount**2 / 2
        raise NoPrice(f"{self} is no pure epsilon, however large")

    def share(self, share: Fraction) -> Price:
        """Return a part of it, in the same currency."""
        return Price(self.amount * share, self.currency)

    def __str__(self) -> str:
        return f"{self.currency} {self.amount}"
