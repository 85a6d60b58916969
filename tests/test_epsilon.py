"""What an epsilon means is said in words, and from where on it is too large."""

import math
from fractions import Fraction

import pytest

from vdr_spark.epsilon import (
    describe_factor,
    describe_odds,
    find_large_delta,
    find_weakness,
    format_delta,
    in_brackets,
)


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


def test_at_a_delta_it_is_said() -> None:
    told = find_weakness(Fraction("6.475"), Fraction(1, 10**9))
    assert told is not None
    assert told.startswith("epsilon 6.475 at delta 1e-9 is large: ")
    assert "to 1, but for chances of the size of 1e-9. Good" in told


@pytest.mark.parametrize(("delta", "text"), [("1e-9", "1e-9"), ("1/3000000", "3.333e-7"), ("0.00025", "2.5e-4")])
def test_a_delta_is_written_as_people_do(delta: str, text: str) -> None:
    assert format_delta(Fraction(delta)) == text


def test_a_delta_above_one_ping_in_all_is_doubted() -> None:
    assert find_large_delta(Fraction(1, 6000), 6000) is None
    assert find_large_delta(Fraction(1, 100), None) is None
    assert find_large_delta(None, 6000) is None
    doubt = find_large_delta(Fraction(1, 100), 6000)
    assert doubt is not None
    assert "delta 1e-2 is above 1 / N = 0.00017" in doubt
    assert "publishing about 60 of the pings as they are" in doubt
