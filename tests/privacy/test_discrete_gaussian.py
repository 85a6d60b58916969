"""Discrete Gaussian noise has the closed form's distribution, far tails included, and agrees with OpenDP."""

import pickle
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp
import pytest
from scipy.special import log_ndtr
from scipy.stats import chi2_contingency, chisquare

from tests.privacy.words import these_words
from vdr_spark.privacy import discrete_gaussian as module
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.half_gaussian import HalfGaussian
from vdr_spark.privacy.randomness import RandomWords, secure_words, seeded_words

N = 400_000
# One test in a million fails by chance; a sigma that is 3 % off is rejected at the same level, see below.
LEVEL = 1e-6


def gaussian(sigma: Fraction | int) -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(sigma) ** 2)


def closed_form(sigma: float, edges: np.ndarray) -> np.ndarray:
    """P(edges[i] <= X < edges[i + 1]), term by term; by the normal distribution where that is the same to 12 digits."""
    if sigma > 10**5:
        return np.diff(np.exp(log_ndtr((edges - 0.5) / sigma)))
    x = np.arange(-int(20 * sigma) - 60, int(20 * sigma) + 61)
    mass = np.exp(-np.square(x / sigma) / 2)
    return np.histogram(x, edges, weights=mass / mass.sum())[0]


def fit(samples: np.ndarray, sigma: float) -> float:
    """p-value of chi-squared against the closed form, in bins that reach to the farthest tails."""
    wanted = np.linspace(0, 6, 31)[1:] * sigma
    edges = np.unique(np.ceil(np.concatenate([-wanted, [0, 1], wanted + 1])))
    edges = np.concatenate([[-(2.0**62)], edges, [2.0**62]])
    expected = closed_form(sigma, edges) * len(samples)
    seen = np.histogram(samples, edges)[0].astype(float)
    keep = expected >= 8
    if (rest := expected[~keep].sum()) >= 5:
        seen, expected = np.append(seen[keep], seen[~keep].sum()), np.append(expected[keep], rest)
    else:
        seen, expected = seen[keep], expected[keep]
    return float(chisquare(seen, expected * seen.sum() / expected.sum()).pvalue)


SIGMAS = [
    Fraction(1, 3),
    Fraction(1),
    Fraction(22, 7),
    Fraction(10),
    Fraction(500),
    Fraction(10_000),
    Fraction(10 * 2**20),
]


@pytest.mark.parametrize("sigma", SIGMAS, ids=str)
def test_distribution(sigma: Fraction) -> None:
    assert fit(gaussian(sigma).sample(N, secure_words), float(sigma)) > LEVEL


@pytest.mark.parametrize("sigma", SIGMAS[1:], ids=str)
@pytest.mark.parametrize("factor", [Fraction(103, 100), Fraction(97, 100)], ids=["larger", "smaller"])
def test_a_sigma_three_percent_off_is_rejected(sigma: Fraction, factor: Fraction) -> None:
    assert fit(gaussian(sigma * factor).sample(N, secure_words), float(sigma)) < LEVEL


@pytest.mark.parametrize("sigma", [Fraction(1), Fraction(10), Fraction(700)], ids=str)
def test_same_as_opendp(sigma: Fraction) -> None:
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    theirs = np.array(dp.m.make_gaussian(*space, scale=float(sigma))([0] * 40_000))
    ours = gaussian(sigma).sample(40_000, secure_words)
    edges = np.unique(np.quantile(theirs, np.linspace(0, 1, 25)).round()) - 0.5
    table = [np.histogram(x, np.concatenate([[-1e9], edges[1:], [1e9]]))[0] for x in (ours, theirs)]
    assert chi2_contingency(table).pvalue > LEVEL


@pytest.mark.parametrize("sigma", [600, 10_000, 10 * 2**20, 2**50])
def test_places_within_blocks_leave_no_trace(sigma: int) -> None:
    """Blocks have powers of two for a length: the lowest bits are uniform, and either sign is as frequent."""
    samples = gaussian(sigma).sample(N, secure_words)
    for shift in (0, 3, int(sigma).bit_length() - 7):
        assert chisquare(np.bincount((samples >> shift) % 16, minlength=16)).pvalue > LEVEL
    assert chisquare([(samples < 0).sum(), (samples > 0).sum()]).pvalue > LEVEL


@pytest.mark.parametrize(
    "sigma_squared", [Fraction(1, 9), Fraction(1, 2), Fraction(1), Fraction(3), Fraction(4), Fraction(100)]
)
def test_variance(sigma_squared: Fraction) -> None:
    mechanism = DiscreteGaussian(sigma_squared)
    x = np.arange(-300, 301)
    mass = np.exp(-(x**2) / (2 * float(sigma_squared)))
    assert mechanism.variance == pytest.approx(x**2 @ mass / mass.sum(), rel=1e-12)
    samples = mechanism.sample(N, secure_words)
    assert samples.var() == pytest.approx(mechanism.variance, rel=0.05)
    assert abs(samples.mean()) < 6 * (mechanism.variance / N) ** 0.5


def test_hardly_any_noise_and_very_much() -> None:
    assert not gaussian(Fraction(1, 100)).sample(10_000, secure_words).any()
    assert DiscreteGaussian(Fraction(1, 10**9)).variance == 0
    samples = gaussian(2**56).sample(10_000, secure_words)
    assert 0.9 < samples.std() / 2**56 < 1.1


def test_words_make_the_sample() -> None:
    """For sigma = 1, P(|X| >= 1), zero counted on either side, is 0.42953 and P(|X| >= 2) is 0.08363."""
    mechanism, one = gaussian(1), 2**63

    def word(u: float, minus: bool = False) -> int:
        return int(u * one) * 2 + minus

    assert mechanism.sample(1, these_words(word(0.43)))[0] == 0
    assert mechanism.sample(1, these_words(word(0.429)))[0] == 1
    assert mechanism.sample(1, these_words(word(0.429, minus=True)))[0] == -1
    assert mechanism.sample(1, these_words(word(0.0836, minus=True)))[0] == -2
    # Minus zero is sampled anew, as often as it takes.
    minus_zero = word(0.43, minus=True)
    assert mechanism.sample(1, these_words(minus_zero, minus_zero, word(0.429)))[0] == 1


def test_what_is_thrown_away_is_sampled_anew() -> None:
    mechanism = gaussian(10_000)  # blocks of 32
    low_block, high_place, kept, thrown = 2**62, 31 << 59, 2**32 - 1, 0
    first = mechanism.sample(1, these_words(low_block, high_place, kept))[0]
    assert first % 32 == 31
    again = mechanism.sample(1, these_words(low_block, high_place, thrown, low_block, 30 << 59, kept))[0]
    assert again == first - 1


def test_samples_are_fresh_and_seeded_ones_are_not() -> None:
    mechanism = pickle.loads(pickle.dumps(gaussian(700)))

    def sample(random_words: RandomWords) -> list[int]:
        samples: list[int] = mechanism.sample(50, random_words).tolist()
        return samples

    assert sample(secure_words) != sample(secure_words)
    assert sample(seeded_words(3, 1)) == sample(seeded_words(3, 1))
    assert sample(seeded_words(3, 1)) != sample(seeded_words(3, 2))


def test_sigma_must_be_positive_and_fit() -> None:
    with pytest.raises(ValueError, match="positive"):
        DiscreteGaussian(Fraction(0))
    with pytest.raises(ValueError, match="at most"):
        DiscreteGaussian(Fraction(2) ** 113)
    with pytest.raises(ValueError, match="rho must be positive, not 0"):
        DiscreteGaussian.calibrate_rho(1, Fraction(0))


def test_rho_gives_sigma_exactly() -> None:
    mechanism = DiscreteGaussian.calibrate_rho(3 * 2**20, Fraction("0.1"))
    assert mechanism.sigma_squared == Fraction(9 * 2**40 * 10, 2)
    assert DiscreteGaussian.calibrate_rho(1, Fraction(1, 3)).sigma_squared == Fraction(3, 2)


@pytest.fixture
def tables_built(monkeypatch: pytest.MonkeyPatch) -> list[Fraction]:
    """The tables that are computed, by their sigma**2."""
    built: list[Fraction] = []

    def count(sigma_squared: Fraction) -> HalfGaussian:
        built.append(sigma_squared)
        return HalfGaussian(sigma_squared)

    monkeypatch.setattr(module, "HalfGaussian", count)
    return built


def test_who_asks_for_the_variance_does_not_pay_for_the_table(tables_built: list[Fraction]) -> None:
    mechanism = gaussian(1000)
    assert (mechanism.variance, mechanism.scale, mechanism.depth) == (1e6, 1000, 8000)
    assert mechanism.perturbation_weight == pytest.approx(5129, rel=0.01)
    assert repr(mechanism) == "DiscreteGaussian(sigma_squared=Fraction(1000000, 1))"
    assert tables_built == []


def test_tasks_get_the_table_and_do_not_compute_it(tables_built: list[Fraction]) -> None:
    mechanism = gaussian(1000)
    arrived = pickle.loads(pickle.dumps(mechanism))
    assert arrived == mechanism
    assert (arrived.sample(50, seeded_words(1, 0)) == mechanism.sample(50, seeded_words(1, 0))).all()
    assert tables_built == [Fraction(500) ** 2]


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(1), Fraction(2), Fraction(40)], ids=str)
@pytest.mark.parametrize("estimate", [np.abs, lambda y: np.maximum(y, 0), lambda y: np.where(y > 2, 7.0, 0)])
def test_perturbations_measure_how_an_estimate_follows_its_noise(
    sigma: Fraction, estimate: Callable[[np.ndarray], np.ndarray]
) -> None:
    """E n g(y), with n known to the test, beside what the mechanism makes of y alone."""
    mechanism, random = gaussian(sigma), np.random.default_rng(0)
    n = mechanism.sample(N, seeded_words(4, 0))
    y, m = n + 1, mechanism.perturbations((N,), random)
    direct = n * estimate(y)
    by_perturbation = mechanism.perturbation_weight / 2 * (estimate(y + m) - estimate(y - m))
    error = np.hypot(direct.std(), by_perturbation.std()) / N**0.5
    assert by_perturbation.mean() == pytest.approx(direct.mean(), abs=5 * error)
    assert np.mean(m.astype(float) ** 2) == pytest.approx(mechanism.perturbation_variance, rel=0.05)


@pytest.mark.parametrize(("sigma", "step"), [(Fraction(8), 1.0), (Fraction(8 * 2**20), 2.0**20), (Fraction(3), 0.5)])
def test_a_distribution_is_convolved_with_the_noise(sigma: Fraction, step: float) -> None:
    mass, n = np.random.default_rng(0).random((2, 50)), np.arange(50)
    kernel = np.exp(-np.square((n[:, None] - n) * step / float(sigma)) / 2)
    np.testing.assert_allclose(gaussian(sigma).convolve(mass, step), mass @ kernel, rtol=1e-9)


def test_far_tails_are_convolved_to_the_last_digit() -> None:
    """Where the noise has a probability of 10**-80, which no Fourier transform would have left."""
    mass = np.eye(300)[0]
    seen = gaussian(10).convolve(mass, 1.0)
    assert seen[190] == pytest.approx(np.exp(-(19.0**2) / 2), rel=1e-12, abs=0)
