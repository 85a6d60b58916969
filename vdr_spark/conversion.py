"""What rho is for people: an epsilon at a delta they chose; and which rho to take for an epsilon at a delta.

A rho-zCDP release is (epsilon, delta) differentially private for every delta, by a whole curve of epsilons. Google's
`dp-accounting` works the best one out, by the conversion of Canonne, Kamath and Steinke (2020, proposition 12) from
Renyi divergences: every order gives a true epsilon, the least of them is told. It computes in floating point, so an
epsilon is rounded up and a rho down, by far more than its rounding errors. What is told this way is for people to
read and for warnings. No budget is reckoned with it: ledgers add up rho itself, in fractions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np

from vdr_spark.epsilon import format_epsilon
from vdr_spark.packages import explain_missing_packages
from vdr_spark.price import Currency, Price

_DIGITS = 4  # that people are told
_RHO_DIGITS = 6
_SURE = Fraction(1, 10**9)  # as a share: far more than the library's rounding errors
_ORDERS = 801  # between a quarter and four times the order that is best for large epsilons, less one: 0.35 % apart
_LEAST_ORDER = 1.02  # the library takes none below 1.01


@lru_cache(maxsize=4096)
def epsilon_at(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon such that rho-zCDP is (epsilon, delta)-DP: the least one, rounded up to four digits."""
    return _round(Fraction(_convert(rho, delta)) * (1 + _SURE), _DIGITS, math.ceil) if rho else Fraction(0)


def rho_for(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest rho that is still (epsilon, delta)-DP, rounded down to six digits."""
    least, most = Fraction(0), epsilon  # epsilon_at(rho) > rho for every delta that is worth the name
    while _convert(most, delta) < epsilon:
        most *= 2
    for _ in range(60):
        middle = (least + most) / 2
        if Fraction(_convert(middle, delta)) * (1 + _SURE) <= epsilon:
            least = middle
        else:
            most = middle
    return _round(least, _RHO_DIGITS, math.floor)


def analytic_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return rho + 2 sqrt(rho log(1 / delta)), rounded up: a bound that needs no library (Bun and Steinke 2016, 1.3).

    It is a few percent above what `epsilon_at` finds, and there to check it by.
    """
    bound = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    return _round(Fraction(bound) * (1 + _SURE), _DIGITS, math.ceil)


def describe_price(price: Price, delta: Fraction | None) -> str:
    """Return a price in words; of rho also what it is as an epsilon, rounded up."""
    if price.currency is Currency.EPSILON or delta is None or price.amount == 0:
        return str(price)
    return f"{price}, which is {format_epsilon(epsilon_at(price.amount, delta), delta)}"


def _convert(rho: Fraction, delta: Fraction) -> float:
    """Return what the library makes of rho: the least epsilon over orders around the best one."""
    with explain_missing_packages():
        from dp_accounting import rdp

    # At large epsilons rho * a + log(1 / delta) / (a - 1) is what counts, and least at this order.
    best = math.sqrt(math.log(1 / delta) / rho)
    orders = np.maximum(1 + best * np.geomspace(1 / 4, 4, _ORDERS), _LEAST_ORDER)
    epsilon, _ = rdp.compute_epsilon(orders, float(rho) * orders, float(delta))
    return float(epsilon)


def _round(value: Fraction, digits: int, to_whole: Callable[[Fraction], int]) -> Fraction:
    """Return a number with so many significant digits, rounded up or down."""
    if value == 0:
        return value
    unit = Fraction(10) ** (math.floor(math.log10(value)) + 1 - digits)
    return to_whole(value / unit) * unit
