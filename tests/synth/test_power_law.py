"""The law of pings per person against what can be computed by other means."""

import numpy as np
import pytest

from vdr_spark.synth.power_law import PowerLaw

HOUSTON_LIKE = PowerLaw(exponent=2.5, shift=50, cutoff=90_000)


def rng() -> np.random.Generator:
    return np.random.Generator(np.random.PCG64(3))


def test_small_law_by_hand() -> None:
    law = PowerLaw(exponent=2.0, shift=1.0, cutoff=2)  # weights 1/4 and 1/9
    np.testing.assert_allclose(law.probabilities, [9 / 13, 4 / 13])
    assert law.mean == pytest.approx(17 / 13)
    assert law.users_for(17_000) == 13_000


def test_draws_have_the_laws_mean_and_range() -> None:
    law = PowerLaw(exponent=2.5, shift=20, cutoff=500)
    drawn = law.sample(rng(), 200_000)
    deviation = np.sqrt(np.arange(1, 501) ** 2 @ law.probabilities - law.mean**2)
    assert abs(drawn.mean() - law.mean) < 5 * deviation / np.sqrt(len(drawn))
    assert drawn.min() == 1
    assert drawn.max() <= 500
    shares = np.bincount(drawn, minlength=501)[1:21] / len(drawn)
    np.testing.assert_allclose(shares, law.probabilities[:20], rtol=0.06)


def test_four_in_five_have_fewer_than_a_hundred() -> None:
    drawn = HOUSTON_LIKE.sample(rng(), 100_000)
    assert 0.78 < (drawn < 100).mean() < 0.82


def test_tail_falls_with_the_exponent() -> None:
    """Hill's estimate over the largest draws, shift added back, gives exponent - 1."""
    drawn = HOUSTON_LIKE.sample(rng(), 400_000) + HOUSTON_LIKE.shift
    tail = drawn[(drawn > 1000) & (drawn < 90_000)]
    hill = 1 / np.log(tail / 1000).mean()
    assert hill == pytest.approx(1.5, rel=0.08)


def test_a_law_of_one_ping() -> None:
    law = PowerLaw(exponent=2.5, shift=0, cutoff=1)
    assert law.mean == 1
    assert set(law.sample(rng(), 100)) == {1}
    assert law.users_for(0) == 1
