"""What rho is as an epsilon: above the truth for Gaussian noise, below the analytic bound, always rounded up."""

import json
from fractions import Fraction

import pytest
from mpmath import erfc, exp, mp, mpf, sqrt

from tests.test_packages import run_without
from vdr_spark.conversion import analytic_epsilon, describe_price, epsilon_at, rho_for
from vdr_spark.price import Price

RHOS = [Fraction(1, 10**6), Fraction(1, 100), Fraction(435, 1000), Fraction(1, 2), Fraction(26), Fraction(500)]
DELTAS = [Fraction(1, 10**5), Fraction(1, 10**9), Fraction(1, 10**18)]


def delta_of_gaussian(rho: Fraction, epsilon: Fraction) -> object:
    """Return the exact delta of Gaussian noise of this rho at an epsilon (Balle and Wang 2018, theorem 8).

    It is rho-zCDP and no better, so that no epsilon of rho at delta may be below the one at which it has this delta.
    """
    mp.dps = 60
    mu, at = sqrt(2 * mpf(rho.numerator) / rho.denominator), mpf(epsilon.numerator) / epsilon.denominator

    def below(x: object) -> object:
        return erfc(-x / sqrt(mpf(2))) / 2

    return below(mu / 2 - at / mu) - exp(at) * below(-mu / 2 - at / mu)


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_it_is_between_the_truth_of_gaussian_noise_and_the_analytic_bound(rho: Fraction, delta: Fraction) -> None:
    epsilon = epsilon_at(rho, delta)
    assert delta_of_gaussian(rho, epsilon) <= mpf(delta.numerator) / delta.denominator
    mp.dps = 60
    analytic = mpf(rho.numerator) / rho.denominator
    analytic += 2 * sqrt(analytic * mp.log(mpf(delta.denominator) / delta.numerator))
    assert mpf(epsilon.numerator) / epsilon.denominator <= analytic * (1 + mpf("1e-3"))  # it is rounded up, to 4 digits
    bound = analytic_epsilon(rho, delta)
    assert 1 <= (mpf(bound.numerator) / bound.denominator) / analytic <= 1 + mpf("1e-3")


@pytest.mark.parametrize("delta", DELTAS, ids=str)
@pytest.mark.parametrize("rho", RHOS, ids=str)
def test_it_is_the_best_order_s_rounded_up(rho: Fraction, delta: Fraction) -> None:
    """By a search of our own over Renyi orders, in 60 digits (Canonne, Kamath and Steinke 2020, proposition 12)."""
    mp.dps = 60
    exact, at = mpf(rho.numerator) / rho.denominator, mpf(delta.numerator) / delta.denominator

    def epsilon_of(order: object) -> object:
        return exact * order + mp.log(1 - 1 / order) - mp.log(at * order) / (order - 1)

    low, high = mpf("1e-3"), mpf(10) ** 6  # orders less one; the epsilon falls, then rises
    for _ in range(400):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, right) if epsilon_of(1 + left) < epsilon_of(1 + right) else (left, high)
    best, told = epsilon_of(1 + low), epsilon_at(rho, delta)
    ratio = mpf(told.numerator) / told.denominator / best
    assert 1 <= ratio <= 1 + mpf("2e-3")
    assert len(f"{float(told):.12g}".replace(".", "").replace("e-0", "").strip("0")) <= 5  # four digits, rounded


def test_more_releases_and_smaller_deltas_mean_a_larger_epsilon() -> None:
    rho, delta = Fraction(1, 50), Fraction(1, 10**9)
    told = [epsilon_at(weeks * rho, delta) for weeks in (1, 4, 13, 52)]
    assert told == sorted(told)
    assert told[3] < 10 * told[0]  # nearly like the root of 52, not like 52
    assert epsilon_at(rho, delta / 1000) > epsilon_at(rho, delta)
    assert epsilon_at(Fraction(0), delta) == 0


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(6), Fraction(40)], ids=str)
@pytest.mark.parametrize("delta", DELTAS, ids=str)
def test_the_rho_of_an_epsilon_keeps_it_and_hardly_more_would(epsilon: Fraction, delta: Fraction) -> None:
    rho = rho_for(epsilon, delta)
    assert epsilon_at(rho, delta) <= epsilon
    assert epsilon_at(rho * Fraction(101, 100), delta) > epsilon


def test_the_price_of_the_trial_is_known() -> None:
    """(6, 1e-9), at which bounding by norms was tried first."""
    assert rho_for(Fraction(6), Fraction(1, 10**9)) == Fraction("0.435345")


def test_a_price_is_told_in_both_languages() -> None:
    delta = Fraction(1, 10**9)
    assert describe_price(Price.rho("1/2"), delta) == "rho 1/2, which is epsilon 6.475 at delta 1e-9"
    assert describe_price(Price.rho("1/2"), None) == "rho 1/2"
    assert describe_price(Price.rho(0), delta) == "rho 0"
    assert describe_price(Price.epsilon("1/2"), delta) == "epsilon 1/2"


def test_without_the_library_it_is_a_sentence_and_pure_epsilon_needs_none(tmp_path: object) -> None:
    asked = "from fractions import Fraction as F; from vdr_spark.conversion import {0}; {0}(F(1, 2), F(1, 10**9))"
    pure = "from vdr_spark.config.privacy import PrivacySettings as P; P(epsilon=6, k=1, total_pings=9, budget=6)"
    codes = [
        asked.format("epsilon_at"),
        asked.format("analytic_epsilon"),
        pure,
        pure.replace("epsilon", "delta=0.1, rho"),
    ]
    raised, _ = run_without(("dp_accounting",), codes, tmp_path)  # type: ignore[arg-type]
    sentence = "EnvironmentProblem: what rho is as an epsilon is worked out by dp-accounting, but the package"
    assert raised[0].startswith(sentence)
    assert "pip install vdr-spark[rho]" in raised[0]
    assert raised[1:3] == ["", ""]
    assert raised[3].startswith(sentence), json.dumps(raised)
