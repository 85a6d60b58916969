"""The digits' thresholds are exact, and the rare word that decides nothing is decided by further bits."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.privacy.words import no_more_words, these_words
from vdr_spark.privacy.exact_digits import Digit
from vdr_spark.privacy.threshold_table import WORD_BITS

mpmath.mp.prec = 600


def probability(rate: Fraction, size: int, truncated: bool, i: int) -> mpmath.mpf:
    """P(D >= i), by an independent library."""
    q = mpmath.exp(-mpmath.mpf(rate.numerator) / rate.denominator)
    return (q**i - q**size) / (1 - q**size) if truncated else q**i


@settings(max_examples=60, deadline=None)
@given(
    rate=st.fractions(min_value=Fraction(1, 10**9), max_value=50),
    size=st.integers(2, 300),
    truncated=st.booleans(),
    data=st.data(),
)
def test_thresholds_are_the_exact_floors(rate: Fraction, size: int, truncated: bool, data: st.DataObject) -> None:
    digit = Digit(rate, size, truncated)
    i = data.draw(st.integers(1, size - 1))
    floor = int(mpmath.floor(probability(rate, size, truncated, i) * 2**WORD_BITS))
    around = np.array([word for word in (floor - 1, floor + 1) if 0 <= word < 2**WORD_BITS], dtype=np.int64)
    for word, sampled in zip(around, digit.sample(around, lambda n: np.zeros(n, np.uint64)), strict=True):
        assert (sampled >= i) == (word < floor)


@pytest.mark.parametrize("truncated", [False, True])
def test_a_word_equal_to_a_threshold_is_decided_by_more_bits(truncated: bool) -> None:
    rate, size, i = Fraction(6, 55), 100, 7
    digit = Digit(rate, size, truncated)
    exact = probability(rate, size, truncated, i)
    word = int(mpmath.floor(exact * 2**WORD_BITS))
    next_bits = int(mpmath.floor(exact * mpmath.mpf(2) ** (WORD_BITS + 64))) & (2**64 - 1)
    further = int(mpmath.floor(exact * mpmath.mpf(2) ** (WORD_BITS + 128))) & (2**64 - 1)
    words = np.array([word], dtype=np.int64)
    assert digit.sample(words, these_words(next_bits - 1))[0] == i  # U just below the threshold
    assert digit.sample(words, these_words(next_bits + 1))[0] == i - 1  # U just above it
    assert digit.sample(words, these_words(next_bits, further - 1))[0] == i  # equal once more, then below
    assert digit.sample(words, these_words(next_bits, further + 1))[0] == i - 1


def test_ordinary_words_ask_for_no_more_bits() -> None:
    words = np.random.default_rng(0).integers(0, 2**WORD_BITS, 100_000)
    Digit(Fraction(6, 55), 200, truncated=False).sample(words, no_more_words)


def test_a_digit_too_improbable_for_63_bits_is_still_possible() -> None:
    digit = Digit(Fraction(60), 1, truncated=False)  # P(D >= 1) = exp(-60) < 2**-63
    zero = np.array([0], dtype=np.int64)
    assert digit.sample(zero, these_words(0))[0] == 1
    assert digit.sample(zero, these_words(2**63))[0] == 0
