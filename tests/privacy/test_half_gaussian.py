"""The thresholds of half a Gaussian enclose the truth, and words that decide nothing are decided by further bits."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.privacy.words import no_more_words, these_words
from vdr_spark.privacy.half_gaussian import HalfGaussian, _enclose_sums
from vdr_spark.privacy.threshold_table import WORD_BITS

mpmath.mp.prec = 600


def probability(sigma_squared: Fraction, i: int) -> mpmath.mpf:
    """P(H >= i), by an independent library: both sums, far beyond 600 bits."""
    exponent = -1 / (2 * mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator)
    last = i + int(mpmath.sqrt(-900 / exponent)) + 2
    terms = [mpmath.exp(exponent * j * j) for j in range(last)]
    return mpmath.fsum(terms[i:]) / mpmath.fsum(terms)


@settings(max_examples=40, deadline=None)
@given(sigma_squared=st.fractions(min_value=Fraction(1, 40), max_value=900), data=st.data())
def test_words_on_either_side_of_a_threshold_are_told_apart(sigma_squared: Fraction, data: st.DataObject) -> None:
    half, i = HalfGaussian(sigma_squared), data.draw(st.integers(1, 1 + int(3 * sigma_squared**0.5)))
    floor = int(mpmath.floor(probability(sigma_squared, i) * 2**WORD_BITS))
    around = [word for word in (floor - 2, floor - 1, floor + 1, floor + 2) if 0 <= word < 2**WORD_BITS]
    sampled = half.sample(np.array(around, dtype=np.int64), lambda n: np.full(n, 2**63, np.uint64))
    assert [number >= i for number in sampled] == [word < floor for word in around]


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 50), Fraction(1), Fraction(55, 6), Fraction(40**2)])
@pytest.mark.parametrize("precision", [12, 40, 127])
def test_endless_sums_are_enclosed(sigma_squared: Fraction, precision: int) -> None:
    low, high = _enclose_sums(sigma_squared, precision)
    exponent = -1 / (2 * mpmath.mpf(sigma_squared.numerator) / sigma_squared.denominator)
    terms = [mpmath.exp(exponent * j * j) for j in range(len(low) + 2000)]
    for i in range(0, len(low), 1 + len(low) // 20):
        assert low[i] <= mpmath.fsum(terms[i:]) * 2**precision <= high[i]
    assert low[-1] == 0
    assert mpmath.fsum(terms[len(low) - 1 :]) * 2**precision <= high[-1]


@pytest.mark.parametrize("sigma_squared", [Fraction(1), Fraction(55, 6), Fraction(300**2)])
@pytest.mark.parametrize("i", [1, 4])
def test_a_word_at_a_threshold_is_decided_by_more_bits(sigma_squared: Fraction, i: int) -> None:
    half, exact = HalfGaussian(sigma_squared), probability(sigma_squared, i)
    bits = int(mpmath.floor(exact * mpmath.mpf(2) ** (WORD_BITS + 128)))
    word, next_bits, further = bits >> 128, (bits >> 64) & (2**64 - 1), bits & (2**64 - 1)
    words = np.array([word], dtype=np.int64)
    assert half.sample(words, these_words(next_bits - 2))[0] == i  # U just below the threshold
    assert half.sample(words, these_words(next_bits + 2))[0] == i - 1  # U just above it
    assert half.sample(words, these_words(next_bits, further - 2))[0] == i  # equal once more, then below
    assert half.sample(words, these_words(next_bits, further + 2))[0] == i - 1


def test_the_tail_has_no_end() -> None:
    """A word of zeros lies below every threshold of the table, and asks for more bits until it lies above one."""
    half, zero = HalfGaussian(Fraction(1)), np.array([0], dtype=np.int64)
    for zeros, more in ((0, 2**63), (2, 2**63), (5, 1)):
        u = mpmath.mpf(more) / mpmath.mpf(2) ** (WORD_BITS + 64 * (zeros + 1))
        expected = next(i for i in range(100) if probability(Fraction(1), i + 1) <= u)
        assert half.sample(zero, these_words(*[0] * zeros, more))[0] == expected
    assert expected > 20


def test_ordinary_words_ask_for_no_more_bits() -> None:
    words = np.random.default_rng(0).integers(0, 2**WORD_BITS, 100_000)
    HalfGaussian(Fraction(100)).sample(words, no_more_words)


def test_a_number_too_improbable_for_63_bits_is_still_possible() -> None:
    half, zero = HalfGaussian(Fraction(1, 120)), np.array([0], dtype=np.int64)  # P(H >= 1) = exp(-60) < 2**-63
    assert half.sample(zero, these_words(0, 2**63))[0] == 1
    assert half.sample(zero, these_words(2**63))[0] == 0
