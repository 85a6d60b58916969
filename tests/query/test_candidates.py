import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from vdr_spark.query.candidates import LEAST_PROBABILITY, Candidates, judge_cells
from vdr_spark.query.posterior import Posterior


def test_the_posterior_has_the_released_mean_and_deviation() -> None:
    posterior = Posterior.of(np.array([25.0, 0.3]), np.array([15.0, 2.0]))
    assert posterior.mean == pytest.approx([25.0, 0.3])
    assert np.sqrt(posterior.shape) * posterior.scale == pytest.approx([15.0, 2.0])


def test_probability_and_shortfall_are_those_of_a_gamma() -> None:
    gamma = stats.gamma((25 / 15) ** 2, scale=15**2 / 25)
    posterior = Posterior.of(np.array([25.0]), np.array([15.0]))
    assert posterior.reaches(40)[0] == pytest.approx(gamma.sf(39.5))
    assert posterior.shortfall(40)[0] == pytest.approx(quad(lambda x: (40 - x) * gamma.pdf(x), 0, 40)[0], rel=1e-6)


def test_at_a_ping_counts_are_weighted_by_themselves() -> None:
    draws = np.random.default_rng(0).gamma(0.8, 10.0, size=200_000)
    posterior = Posterior(np.array([0.8]), np.array([10.0])).at_a_ping()
    assert posterior.mean[0] == pytest.approx(np.average(draws, weights=draws), rel=0.02)
    assert posterior.exceeds(20)[0] == pytest.approx(np.average(draws > 20, weights=draws), abs=0.01)


@pytest.mark.parametrize("density", [1.0, 10.0, 40.0])
def test_what_is_looked_up_is_what_would_be_computed(density: float) -> None:
    rng = np.random.default_rng(1)
    counts = density * np.exp(rng.uniform(np.log(1e-4), np.log(20), size=5000))
    deviation = counts * np.exp(rng.uniform(np.log(0.05), np.log(20), size=5000))
    probability, shortfall = judge_cells(counts, deviation, density)
    exact = Posterior.of(counts, deviation)
    reaches = exact.reaches(density)
    likely = reaches >= 2 * LEAST_PROBABILITY
    assert np.abs(probability - reaches).max() < 0.003
    assert np.abs(shortfall - exact.shortfall(density) / density)[likely].max() < 0.003
    assert (probability[reaches < LEAST_PROBABILITY / 2] == 0).all()


def test_candidates_are_the_cells_that_may_reach_the_density() -> None:
    counts, deviation = np.full((2, 3, 4), 0.01), np.full((2, 3, 4), 0.01)
    counts[1, 2, 3], deviation[1, 2, 3] = 8, 4
    found = Candidates.of(counts, deviation, 10)
    assert found.cells.tolist() == [[1, 2, 3]]
    assert found.probability == pytest.approx(Posterior.of(np.array([8.0]), np.array([4.0])).reaches(10), abs=0.003)


def test_a_release_without_error_bars_is_taken_at_its_word() -> None:
    probability, shortfall = judge_cells(np.array([12.0, 10.0, 4.0]), None, 10)
    assert probability.tolist() == [1, 1, 0]
    assert shortfall == pytest.approx([0, 0, 0.6])
