"""The auditor itself, on distributions that are known: it finds what is there and no more."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.statistical.audit import (
    Outputs,
    audit,
    chance_of_separation,
    epsilon_bound,
    laplace_evidence,
    separation_bound,
)
from tests.statistical.float_support import outside_support
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.randomness import secure_words

RUNS = 30_000


def noise(scale: Fraction, runs: int = RUNS, cells: int = 1) -> Outputs:
    return DiscreteLaplace(scale).sample(runs * cells, secure_words).reshape(runs, cells)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), Fraction(1), Fraction(3)])
def test_the_bound_lies_shortly_below_the_truth(epsilon: Fraction) -> None:
    found = audit(noise(3 / epsilon) + 3, noise(3 / epsilon))
    assert 0.55 * epsilon < found.bound <= epsilon, found


def test_the_user_may_be_spread_over_cells() -> None:
    user = [1, 0, 1, 1]
    outputs = noise(Fraction(3), cells=4) + user, noise(Fraction(3), cells=4)
    assert audit(*outputs).bound > 0.4  # without knowing where
    found = audit(*outputs, {"evidence of these pings": laplace_evidence(user)})
    assert 0.6 < found.bound <= 1, found


def test_too_little_noise_is_noticed() -> None:
    found = audit(noise(Fraction(21, 10)) + 3, noise(Fraction(21, 10)))
    assert found.violates(1.1), found


def test_a_user_who_changes_nothing_is_not_found() -> None:
    assert audit(noise(Fraction(3)), noise(Fraction(3))).bound < 0.02


def test_a_value_that_one_side_never_has_is_found_on_either_side() -> None:
    mostly, never = noise(Fraction(3)), noise(Fraction(3))
    never[never == 0] = 1
    assert audit(mostly, never).bound > 3
    assert audit(never, mostly).bound > 3


def test_looking_at_many_events_costs_no_confidence() -> None:
    """At an error of one in ten, no more than about one bound in ten may lie above the truth."""
    scale, runs = Fraction(1), 2000
    bounds = [audit(noise(scale, runs) + 1, noise(scale, runs), error=0.1).bound for _ in range(60)]
    assert sum(bound > 1 for bound in bounds) < 24  # a binomial number with mean 6 at most
    assert np.median(bounds) > 0.7


def test_bounds_of_probabilities_in_closed_form() -> None:
    error = 4e-4
    low, high = error / 4, 1 - (error / 4) ** (1 / 50)
    all_or_none = math.log((low ** (1 / 50)) / high)
    assert epsilon_bound(50, 0, 50, 50, error) == pytest.approx(all_or_none)
    assert epsilon_bound(0, 50, 50, 50, error) == pytest.approx(all_or_none)
    assert epsilon_bound(25, 25, 50, 50, error) == 0


def test_the_chance_of_separation_is_the_largest_there_is() -> None:
    for epsilon in (0.05, 0.5, 2.0):
        q = np.linspace(0, 1, 100_001)
        largest = np.max(np.minimum(1, np.exp(epsilon) * q) * (1 - q))
        assert chance_of_separation(6, epsilon) == pytest.approx(largest**6, rel=1e-3)


def test_floating_point_noise_has_holes_that_exact_noise_has_not() -> None:
    scale = 2**50
    holes = outside_support(scale)
    floating = np.rint(np.random.default_rng().laplace(0, scale, (RUNS, 1))).astype(np.int64)
    assert not holes(floating).any()
    assert holes(floating + 1).mean() > 0.05
    assert audit(floating + 1, floating, {"holes": holes}).bound > 3
    exact = noise(Fraction(scale))
    assert holes(exact).mean() == pytest.approx(1 / 8, abs=0.03)
    assert not audit(exact + 1, noise(Fraction(scale)), {"holes": holes}).violates(0.02)


def gaussian(sigma: Fraction, runs: int = RUNS) -> Outputs:
    return DiscreteGaussian(sigma**2).sample(runs, secure_words).reshape(runs, 1)


@pytest.mark.parametrize(("factor", "found"), [(Fraction(1), False), (Fraction(8, 10), True)], ids=["right", "small"])
def test_gaussian_noise_a_fifth_too_small_is_noticed(factor: Fraction, found: bool) -> None:
    """A user who adds one sigma: no event may tell more than a threshold between two normal distributions does."""
    sigma = Fraction(40)
    seen = [int((gaussian(sigma * factor) + added > 20).sum()) for added in (40, 0)]
    bound = separation_bound(*seen, RUNS, RUNS)
    assert 0.85 / factor < bound < 1 / factor
    assert (bound > 1) == found


def test_gaussian_noise_by_floating_point_numbers_gives_a_ping_away() -> None:
    """Doubles beyond 2**53 are even: one ping in such noise shows in the last bit, which exact noise leaves open."""
    sigma = 2**54

    def is_odd_far_out(outputs: Outputs) -> Outputs:
        return np.where(np.abs(outputs[:, 0]) > 2**53, outputs[:, 0] & 1, 2)

    floating = np.rint(np.random.default_rng().normal(0, sigma, (RUNS, 1))).astype(np.int64)
    assert audit(floating + 1, floating, {"odd": is_odd_far_out}).bound > 3
    exact = gaussian(Fraction(sigma)), gaussian(Fraction(sigma))
    assert not audit(exact[0] + 1, exact[1], {"odd": is_odd_far_out}).violates(0.02)
