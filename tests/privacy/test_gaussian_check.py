"""Gaussian noise is measured from noisy counts alone: right noise passes wherever people are, broken noise is found."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.gaussian_check import GaussianCheck
from vdr_spark.privacy.randomness import seeded_words

CELLS = 200_000
Counts = NDArray[np.int64]
UNIT = 2**20


def noise(sigma: Fraction, cells: int = CELLS, seed: int = 1) -> Counts:
    return DiscreteGaussian(sigma**2).sample(cells, seeded_words(seed, 0))


def counts(people: str, sigma: float, cells: int = CELLS) -> Counts:
    """True counts: nobody, people in all cells, in few cells, or a skewed city that is mostly empty."""
    rng = np.random.default_rng(2)
    made = {
        "none": lambda: np.zeros(cells),
        "everywhere": lambda: rng.poisson(2 * sigma + 1, cells),
        "few": lambda: rng.pareto(1.0, cells) * sigma * (rng.random(cells) < 0.1),
        "city": lambda: rng.poisson(rng.gamma(0.1, 2 * sigma, cells)),
        "alike": lambda: np.full(cells, round(sigma)),
    }[people]()
    return made.astype(np.int64)


def problems(noisy: Counts, sigma: Fraction) -> list[str]:
    check = GaussianCheck(sigma**2)
    return list(check.contradictions(check.tally(noisy)))


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 5), Fraction(1, 2), Fraction(1), Fraction(5, 3), Fraction(30), Fraction(10 * UNIT)]
)
@pytest.mark.parametrize("people", ["none", "everywhere", "few", "city", "alike"])
def test_right_noise_agrees_wherever_people_are(sigma: Fraction, people: str) -> None:
    noisy = counts(people, float(sigma)) + noise(sigma)
    assert problems(noisy, sigma) == []
    estimated = GaussianCheck(sigma**2).estimate_scale(GaussianCheck(sigma**2).tally(noisy))
    if sigma >= 1 and people in ("none", "few", "city"):
        assert estimated == pytest.approx(float(sigma), rel=0.06)


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(5), Fraction(30), Fraction(10 * UNIT)])
@pytest.mark.parametrize(
    ("people", "cells"), [("none", 20_000), ("few", 20_000), ("city", 20_000), ("city", CELLS), ("alike", CELLS)]
)
def test_noise_a_fifth_too_small_is_found_where_country_is_empty_or_alike(
    sigma: Fraction, people: str, cells: int
) -> None:
    noisy = counts(people, float(sigma), cells) + noise(sigma * Fraction(8, 10), cells)
    assert problems(noisy, sigma)


def test_the_curvature_alone_finds_noise_that_is_too_small() -> None:
    """Where all cells hold as many people, nothing lies around zero."""
    sigma = Fraction(30)
    noisy = counts("alike", 30.0) + noise(sigma * Fraction(8, 10))
    (only,) = problems(noisy, sigma)
    assert "smaller than claimed" in only


def test_what_cannot_be_told_is_not_claimed() -> None:
    """Counts that vary as much as the noise hide that it is a fifth smaller: the docstring says so."""
    sigma = Fraction(30)
    rng = np.random.default_rng(5)
    people = np.maximum(0, np.rint(rng.normal(100, 20, CELLS))).astype(np.int64)
    assert problems(people + noise(sigma * Fraction(8, 10)), sigma) == []


def laplace_of_the_same_variance(sigma: Fraction) -> Counts:
    return DiscreteLaplace(sigma * Fraction(707, 1000)).sample(CELLS, seeded_words(6, 0))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param(lambda sigma: noise(sigma * Fraction(8, 10)), "smaller than claimed", id="sigma 0.8"),
        pytest.param(lambda sigma: noise(sigma * Fraction(9, 10)), "from -30 to 29", id="sigma 0.9"),
        pytest.param(lambda sigma: noise(sigma * Fraction(105, 100)), "below -30", id="sigma 1.05"),
        pytest.param(lambda sigma: 2 * (noise(sigma) // 2), "coarser", id="even numbers only"),
        pytest.param(laplace_of_the_same_variance, "below -120", id="another shape"),
        pytest.param(
            lambda sigma: noise(sigma) * (np.random.default_rng(4).random(CELLS) < 0.9), "exactly zero", id="not all"
        ),
        pytest.param(lambda sigma: -np.abs(noise(sigma)), "negative; noise on every cell", id="one side"),
        pytest.param(lambda _: np.zeros(CELLS, np.int64), "exactly zero", id="none"),
    ],
)
def test_broken_noise_is_found(broken: Callable[[Fraction], Counts], words: str) -> None:
    sigma = Fraction(30)
    assert any(words in problem for problem in problems(broken(sigma), sigma))


def test_noise_in_whole_pings_on_fractions_of_them_is_found() -> None:
    sigma = Fraction(10 * UNIT)
    assert any("coarser" in problem for problem in problems(noise(Fraction(10)) * UNIT, sigma))


def test_few_cells_say_nothing() -> None:
    check = GaussianCheck(Fraction(9))
    assert check.estimate_scale(check.tally(noise(Fraction(3), cells=50))) is None
    assert list(check.contradictions(check.tally(noise(Fraction(3), cells=50)))) == []


def test_tallies_add_up() -> None:
    check, noisy = GaussianCheck(Fraction(9)), noise(Fraction(3))
    parts, whole = check.tally(noisy[:70_000]) + check.tally(noisy[70_000:]), check.tally(noisy)
    assert {**vars(parts), "bins": parts.bins.tolist()} == {**vars(whole), "bins": whole.bins.tolist()}
    assert whole.bins.sum() == CELLS
    # Below -4, and up to 1, stretches of 3; what is higher is one bin.
    assert whole.bins[0] == (noisy < -12).sum()
    assert whole.bins[4] == ((noisy >= -3) & (noisy < 0)).sum()
    assert whole.bins[-1] == (noisy >= 6).sum()


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(2, 5), Fraction(4, 5), Fraction(3)])
def test_little_noise_and_few_cells_are_no_false_alarm(sigma: Fraction) -> None:
    noisy = noise(sigma, cells=400_000, seed=7).reshape(400, 1000)
    assert [problem for sample in noisy for problem in problems(sample, sigma)] == []
