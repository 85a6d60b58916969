"""A ping more changes the odds of no estimate by more than epsilon allows, as far as draws can tell.

Estimates of two cities that differ by one ping are told apart by a straight line through the cells' space. Half of the
draws choose line and threshold, the other half say how much likelier it is to be beyond with the ping than without, or
the other way round: at least so much, with one error in ten thousand. Cities are small, so that thousands of draws take
seconds; the arguments for all sizes are in the docstrings of the methods.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import beta

from vdr_spark.baselines import BASELINES, Account, Baseline
from vdr_spark.baselines.mwem import Mwem

EPSILON = 1.0
_ERROR = 1e-4
_FEWEST = 20  # draws beyond a threshold, in the half that chooses it
MANY = 2000
AUDITED = BASELINES | {"mwem": Mwem(rounds=3, sweeps=2, queries=40)}  # as published it takes minutes


@dataclass(frozen=True)
class Careless:
    """A method that spends its epsilon and adds the noise of a multiple of it: the audit has to find it out."""

    baseline: Baseline
    times: float

    @property
    def name(self) -> str:
        return f"careless {self.baseline.name}"

    def __call__(self, counts: NDArray[np.float64], account: Account) -> NDArray[np.float32]:
        return self.baseline(counts, Account(self.times * account.epsilon, account.random))


def sample(baseline: Baseline, counts: NDArray[np.float64], number: int, seed: int) -> NDArray[np.float64]:
    """Return the cells of many estimates. (draws, cells)"""
    random = np.random.default_rng(seed)
    found = [baseline(counts, Account.open(EPSILON, 1.0, random)).ravel() for _ in range(number)]
    return np.stack(found).astype(np.float64)


def least_epsilon(without: NDArray[np.float64], with_ping: NDArray[np.float64]) -> float:
    """Return what epsilon is at least, by estimates of two cities that differ by a ping. (draws, cells) each"""
    chosen, judged = ([of[half::2] for of in (without, with_ping)] for half in (0, 1))
    spread = np.cov(np.concatenate([of - of.mean(axis=0) for of in chosen]).T)
    steady = 1e-3 * np.diag(np.diag(spread)) + 1e-9 * np.eye(len(spread))
    line = np.linalg.solve(spread + steady, chosen[1].mean(axis=0) - chosen[0].mean(axis=0))
    return max(_bound([sign * of @ line for of in chosen], [sign * of @ line for of in judged]) for sign in (1.0, -1.0))


def _bound(chosen: list[NDArray[np.float64]], judged: list[NDArray[np.float64]]) -> float:
    """Return the log of by how much, at least, a large number is likelier of the second kind than of the first."""
    levels = np.quantile(np.concatenate(chosen), np.linspace(0.5, 1 - _FEWEST / len(chosen[0]), 30))
    rare, often = ([float((of >= level).mean()) + 1 / len(of) for level in levels] for of in chosen)
    level = levels[int(np.argmax(np.log(often) - np.log(rare)))]
    number = len(judged[0])
    few, many = (int((of >= level).sum()) for of in judged)
    most = beta.ppf(1 - _ERROR / 2, few + 1, number - few)
    least = beta.ppf(_ERROR / 2, many, number - many + 1) if many else 0.0
    return float(np.log(max(least, 1e-12) / most))


def audit(baseline: Baseline) -> float:
    """Return the largest of what is found of epsilon, in an empty city and in one where people are."""
    found = []
    for quiet in (np.zeros((1, 4, 4)), np.full((1, 4, 4), 3.0)):
        busier = quiet.copy()
        busier[0, 1, 2] += 1
        pair = sample(baseline, quiet, MANY, 1), sample(baseline, busier, MANY, 2)
        found += [least_epsilon(*pair), least_epsilon(*reversed(pair))]
    return max(found)


@pytest.mark.parametrize("baseline", AUDITED.values(), ids=AUDITED)
def test_no_odds_change_by_more_than_epsilon(baseline: Baseline) -> None:
    assert audit(baseline) <= EPSILON


@pytest.mark.parametrize("name", ["identity", "ug", "hb_striped", "dawa_proven", "privtree", "htf"])
def test_the_audit_finds_who_adds_too_little_noise(name: str) -> None:
    assert audit(Careless(BASELINES[name], 4.0)) > EPSILON
