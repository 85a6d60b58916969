"""Integers are kept with exactly the probability that leads from blocks to the Gaussian; rare doubts are resolved."""

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.privacy.words import these_words
from vdr_spark.privacy.gaussian_thinning import Thinning
from vdr_spark.privacy.randomness import seeded_words

mpmath.mp.prec = 600


def thrown_share(thinning: Thinning, block: int, within: int) -> mpmath.mpf:
    """1 - exp(-t), by an independent library, from the squares themselves."""
    first = block << thinning.shift
    t = ((first + within) ** 2 - first**2) / (2 * thinning.sigma_squared)
    return 1 - mpmath.exp(-mpmath.mpf(t.numerator) / t.denominator)


def keep(thinning: Thinning, block: int, within: int, *words: int) -> bool:
    arrays = (np.array([number], dtype=np.int64) for number in (block, within))
    return bool(thinning.keeps(*arrays, these_words(*words))[0])


@pytest.mark.parametrize(
    ("sigma", "shift"), [(512, 0), (513, 1), (1024, 1), (10_000, 5), (10 * 2**20, 15), (2**50, 41)]
)
def test_blocks_are_as_small_as_the_table_allows(sigma: int, shift: int) -> None:
    assert Thinning.of(Fraction(sigma) ** 2).shift == shift


SIGMAS = [Fraction(600), Fraction(10_000), Fraction(10 * 2**20), Fraction(2**50) / 3]


@settings(max_examples=100, deadline=None)
@given(sigma=st.sampled_from(SIGMAS), data=st.data())
def test_the_last_word_that_throws_away_is_the_right_one(sigma: Fraction, data: st.DataObject) -> None:
    thinning = Thinning.of(sigma**2)
    block = data.draw(st.integers(0, 3000) | st.just(2**20))
    within = data.draw(st.integers(0, 2**thinning.shift - 1))
    floor = int(mpmath.floor(thrown_share(thinning, block, within) * 2**32))
    half = 2**63  # of the further bits, where they are asked for
    for word in (floor - 2, floor - 1, floor + 1, floor + 2):
        if 0 <= word < 2**32:
            assert keep(thinning, block, within, word, half, half) == (word > floor)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("block", [0, 40, 2**20])
def test_a_word_that_decides_nothing_is_followed_by_others(sigma: Fraction, block: int) -> None:
    thinning = Thinning.of(sigma**2)
    within = 2**thinning.shift - 1
    bits = int(mpmath.floor(thrown_share(thinning, block, within) * mpmath.mpf(2) ** 160))
    first, second, third = bits >> 128, (bits >> 64) & (2**64 - 1), bits & (2**64 - 1)
    assert not keep(thinning, block, within, first, second - 2)
    assert keep(thinning, block, within, first, second + 2)
    assert not keep(thinning, block, within, first, second, third - 2)
    assert keep(thinning, block, within, first, second, third + 2)


def test_the_first_integer_of_a_block_is_always_kept() -> None:
    thinning = Thinning.of(Fraction(10_000) ** 2)
    assert all(keep(thinning, block, 0, 0, 1) for block in (0, 1, 3000, 2**20))


def test_doubts_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the exact arithmetic, which is slow, costs nothing."""
    thinning, random, doubts = Thinning.of(Fraction(10_000) ** 2), np.random.default_rng(0), []
    monkeypatch.setattr(Thinning, "_decide", lambda *of: doubts.append(of))
    n = 1_000_000
    blocks, within = np.abs(random.normal(0, 312, n)).astype(np.int64), random.integers(0, 32, n)
    kept = thinning.keeps(blocks, within, seeded_words(1, 0))
    assert len(doubts) < 20  # one in 400,000
    assert 0.998 < kept.mean() < 0.9995
