"""Discrete Laplace noise has the closed form's distribution, far tails included, and agrees with OpenDP."""

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.stats import chi2_contingency, chisquare

from vdr_spark.privacy import discrete_laplace as module
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.exact_digits import Digit
from vdr_spark.privacy.randomness import RandomWords, secure_words, seeded_words

N = 400_000
# One test in a million fails by chance; a scale that is 3 % off is rejected at the same level, see below.
LEVEL = 1e-6


def closed_form(scale: Fraction, edges: np.ndarray) -> np.ndarray:
    """P(edges[i] <= X < edges[i + 1])."""
    p = np.exp(-float(1 / scale))
    lower, upper = np.minimum(edges, 0.0), np.maximum(edges, 0.0)
    below = np.where(edges <= 0, p ** (1 - lower) / (1 + p), 1 - p**upper / (1 + p))
    return np.diff(below)


def fit(samples: np.ndarray, scale: Fraction) -> float:
    """p-value of chi-squared against the closed form, in bins that reach to the farthest tails."""
    wanted = np.geomspace(1, max(20.0, 12 * float(scale)), 24).round()
    edges = np.unique(np.concatenate([-wanted, [0, 1], wanted + 1]))
    edges = np.concatenate([[-(10.0**9)], edges, [10.0**9]])
    expected = closed_form(scale, edges) * len(samples)
    seen = np.histogram(samples, edges)[0].astype(float)
    keep = expected >= 8
    rest = [seen[~keep].sum()], [max(expected[~keep].sum(), 1e-9)]
    if rest[1][0] >= 5:
        seen, expected = np.append(seen[keep], rest[0]), np.append(expected[keep], rest[1])
    else:
        seen, expected = seen[keep], expected[keep]
    return float(chisquare(seen, expected * seen.sum() / expected.sum()).pvalue)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(55, 6), Fraction(500), Fraction(10_000)])
def test_distribution(scale: Fraction) -> None:
    samples = DiscreteLaplace(scale).sample(N, secure_words)
    assert fit(samples, scale) > LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(55, 6), Fraction(500)])
def test_a_scale_three_percent_off_is_rejected(scale: Fraction) -> None:
    samples = DiscreteLaplace(scale * Fraction(103, 100)).sample(N, secure_words)
    assert fit(samples, scale) < LEVEL


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(55, 6)])
def test_same_as_opendp(scale: Fraction) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i32")), dp.l1_distance(T="i32")
    theirs = np.array(dp.m.make_laplace(*space, scale=float(scale))([0] * 40_000))
    ours = DiscreteLaplace(scale).sample(40_000, secure_words)
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 25)).round()) - 0.5
    table = [np.histogram(x, np.concatenate([[-1e9], edges[1:], [1e9]]))[0] for x in (ours, theirs)]
    assert chi2_contingency(table).pvalue > LEVEL


def test_scales_beyond_one_table() -> None:
    scale = Fraction(10**9)  # three digits
    samples = np.abs(DiscreteLaplace(scale).sample(100_000, secure_words)) / float(scale)
    # |X| / scale is exponential: quartiles of its distribution function
    quarters = np.histogram(1 - np.exp(-samples), 16, (0, 1))[0]
    assert chisquare(quarters).pvalue > LEVEL
    lowest = np.abs(DiscreteLaplace(scale).sample(100_000, secure_words)) % 16
    assert chisquare(np.bincount(lowest, minlength=16)).pvalue > LEVEL


def test_variance() -> None:
    mechanism = DiscreteLaplace(Fraction(55, 6))
    samples = mechanism.sample(N, secure_words)
    assert samples.var() == pytest.approx(mechanism.variance, rel=0.03)
    assert abs(samples.mean()) < 6 * (mechanism.variance / N) ** 0.5


def test_a_huge_epsilon_gives_no_noise_and_a_tiny_one_very_much() -> None:
    assert not DiscreteLaplace(Fraction(1, 10_000)).sample(10_000, secure_words).any()
    assert np.abs(DiscreteLaplace(Fraction(10**17)).sample(100, secure_words)).max() > 10**16


def test_samples_are_fresh_and_seeded_ones_are_not() -> None:
    mechanism = pickle.loads(pickle.dumps(DiscreteLaplace(Fraction(55, 6))))

    def sample(random_words: RandomWords) -> list[int]:
        samples: list[int] = mechanism.sample(50, random_words).tolist()
        return samples

    assert sample(secure_words) != sample(secure_words)
    assert sample(seeded_words(3, 1)) == sample(seeded_words(3, 1))
    assert sample(seeded_words(3, 1)) != sample(seeded_words(3, 2))


def test_a_scale_must_be_positive() -> None:
    with pytest.raises(ValueError, match="positive"):
        DiscreteLaplace(Fraction(0))


@pytest.fixture
def tables_built(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the digits' tables that are computed."""
    built: list[int] = []

    def count(rate: Fraction, size: int, truncated: bool) -> Digit:
        built.append(size)
        return Digit(rate, size, truncated)

    monkeypatch.setattr(module, "Digit", count)
    return built


def test_who_asks_for_the_variance_does_not_pay_for_the_tables(tables_built: list[int]) -> None:
    mechanism = DiscreteLaplace(Fraction(10**9))
    assert mechanism.variance == pytest.approx(2e18)
    assert mechanism.perturbation_weight == pytest.approx(2e9)
    assert repr(mechanism) == "DiscreteLaplace(scale=Fraction(1000000000, 1))"
    assert tables_built == []


def test_tasks_get_the_tables_and_do_not_compute_them(tables_built: list[int]) -> None:
    mechanism = DiscreteLaplace(Fraction(10**9))
    sent = pickle.dumps(mechanism)
    assert len(tables_built) == 3
    arrived = pickle.loads(sent)
    assert arrived == mechanism
    assert (arrived.sample(50, seeded_words(1, 0)) == mechanism.sample(50, seeded_words(1, 0))).all()
    assert len(tables_built) == 3


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(40)])
@pytest.mark.parametrize("estimate", [np.abs, lambda y: np.maximum(y, 0), lambda y: np.where(y > 2, 7.0, 0)])
def test_perturbations_measure_how_an_estimate_follows_its_noise(
    scale: Fraction, estimate: Callable[[np.ndarray], np.ndarray]
) -> None:
    """E n g(y), with n known to the test, beside what the mechanism makes of y alone."""
    mechanism, random = DiscreteLaplace(scale), np.random.default_rng(0)
    n = mechanism.sample(N, seeded_words(4, 0))
    y, m = n + 1, mechanism.perturbations((N,), random)
    direct = n * estimate(y)
    by_perturbation = mechanism.perturbation_weight / 2 * (estimate(y + m) - estimate(y - m))
    error = np.hypot(direct.std(), by_perturbation.std()) / N**0.5
    assert by_perturbation.mean() == pytest.approx(direct.mean(), abs=5 * error)


@pytest.mark.parametrize(("scale", "step"), [(Fraction(8), 1.0), (Fraction(8 * 2**20), 2.0**20), (Fraction(3), 0.5)])
def test_a_distribution_is_convolved_with_the_noise(scale: Fraction, step: float) -> None:
    mass, n = np.random.default_rng(0).random((2, 50)), np.arange(50)
    kernel = np.exp(-abs(n[:, None] - n) * step / float(scale))
    np.testing.assert_allclose(DiscreteLaplace(scale).convolve(mass, step), mass @ kernel, rtol=1e-9)
