"""Refinement's factors, by the formula and by what they are for: the least squared error."""

from collections.abc import Callable

import numpy as np
import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.privacy.mechanism import mechanism_of
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.refine import gamma, pings_kept, ratio

Small = Callable[..., ReleaseConfig]


def test_gamma_minimises_the_squared_error_of_the_noisy_tensor(small_config: Small) -> None:
    config = small_config("privacy.total_pings=40000", "privacy.k=30")
    grid, rng = config.domain, np.random.default_rng(0)
    shares = rng.dirichlet(np.full(grid.size, 0.2))
    truth = rng.multinomial(40_000, shares)
    kept = rng.binomial(truth, 0.3)
    noisy = kept + mechanism_of(config.privacy).sample(grid.size, seeded_words(1, 0))
    config = config.model_copy(update={"refine": config.refine.model_copy(update={"concentration": (shares**2).sum()})})
    factors = np.linspace(0.1, 5, 200)
    best = factors[np.argmin([np.square(factor * noisy - truth).sum() for factor in factors])]
    assert gamma(config, kept.sum(), config.privacy.total_pings) == pytest.approx(best, rel=0.1)
    assert ratio(config, kept.sum(), config.privacy.total_pings) > 1.2 * best  # plain N / n would blow the noise up


def test_gamma_by_hand(small_config: Small) -> None:
    config = small_config("privacy.total_pings=1000", "privacy.k=3", "privacy.epsilon=1.5", "refine.concentration=0.01")
    m, n = config.domain.size, 400.0
    expected = n * 1000 * 0.01 / (2 * m * 9 / 2.25 + 0.99 * n + 0.01 * n * n)
    assert gamma(config, n, config.privacy.total_pings) == pytest.approx(expected)
    assert ratio(config, n, config.privacy.total_pings) == 2.5


@pytest.mark.parametrize(("total", "expected"), [(-50.0, 1.0), (300.0, 300.0), (5000.0, 1000.0)])
def test_pings_kept_stays_within_what_is_possible(total: float, expected: float) -> None:
    noisy = np.full((1, 2, 5), total / 10, np.float32)
    assert pings_kept(noisy, 1000) == pytest.approx(expected)
