"""What an epsilon means is said in words, and from where on it is too large."""

import math
from fractions import Fraction

import pytest

from vdr_spark.epsilon import describe_factor, describe_odds, find_weakness, in_brackets


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        (Fraction(1, 10), "1.105"),
        (Fraction(6), "403.4"),
        (Fraction(10), "22,026"),
        (Fraction(12), "162,755"),
        (Fraction(20), "4.9 x 10^8"),
        (Fraction(10**13), f"x 10^{math.floor(10**13 / math.log(10))}"),
    ],
)
def test_the_factor_is_one_that_people_can_read(epsilon: Fraction, words: str) -> None:
    assert words in describe_factor(epsilon)
    assert describe_factor(epsilon) in describe_odds(epsilon)


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [
        (Fraction(499, 100), None),
        (Fraction(5), "epsilon 5 is large"),
        (Fraction(10), "epsilon 10 is large"),
        (Fraction(101, 10), "epsilon 101/10 is a weak promise"),
        (Fraction(50), "epsilon 50 is a weak promise"),
        (Fraction(501, 10), "no protection worth the name"),
        (Fraction(10**18), "no protection worth the name"),
    ],
)
def test_from_five_upwards_there_is_a_caution(epsilon: Fraction, words: str | None) -> None:
    found = find_weakness(epsilon)
    assert found is None if words is None else words in (found or "")


def test_a_fraction_is_divided_by_in_brackets() -> None:
    assert (in_brackets(Fraction(6)), in_brackets(Fraction(1, 3))) == ("6", "(1/3)")
