"""The registry of mechanisms, and the noise of a cell in pings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.price import Price
from vdr_spark.privacy.discrete_gaussian import DiscreteGaussian
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.gaussian_check import GaussianCheck
from vdr_spark.privacy.mechanism import MECHANISMS, ZCDP_MECHANISMS, Mechanism, Noise, build_mechanism
from vdr_spark.privacy.noise_check import LaplaceCheck
from vdr_spark.privacy.randomness import seeded_words


def test_a_mechanism_is_calibrated_exactly() -> None:
    mechanism = build_mechanism("discrete_laplace", 5 * 2**20, Price.epsilon("0.7"))
    assert mechanism == DiscreteLaplace(Fraction(5 * 2**20 * 10, 7))
    assert mechanism.name == "discrete_laplace"
    assert mechanism.noise_check() == LaplaceCheck(Fraction(5 * 2**20 * 10, 7))


def test_a_gaussian_is_calibrated_exactly_to_rho() -> None:
    mechanism = build_mechanism("discrete_gaussian", 5 * 2**20, Price.rho("0.7"))
    assert mechanism == DiscreteGaussian(Fraction(25 * 2**40 * 10, 14))
    assert mechanism.noise_check() == GaussianCheck(Fraction(25 * 2**40 * 10, 14))


def test_every_mechanism_is_known_by_its_own_name() -> None:
    for name, build in (MECHANISMS | ZCDP_MECHANISMS).items():
        assert build(1, Fraction(1)).name == name


@pytest.mark.parametrize(
    ("name", "price", "other"),
    [
        ("discrete_gaussian", Price.epsilon(1), "discrete_laplace"),
        ("discrete_laplace", Price.rho(1), "discrete_gaussian"),
    ],
)
def test_noise_of_the_other_currency_is_refused_not_accounted_for_wrongly(name: str, price: Price, other: str) -> None:
    assert not set(MECHANISMS) & set(ZCDP_MECHANISMS)
    with pytest.raises(InvalidConfig, match=rf"one of {other} where the price is {price.currency}, not '{name}'"):
        build_mechanism(name, 1, price)


def test_an_unknown_mechanism_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidConfig, match="one of discrete_laplace where the price is epsilon, not 'magic'"):
        build_mechanism("magic", 1, Price.epsilon(1))


def _laplace(units: int) -> Mechanism:
    return DiscreteLaplace(Fraction(7) * units)


def _gaussian(units: int) -> Mechanism:
    return DiscreteGaussian((Fraction(7) * units) ** 2)


@pytest.mark.parametrize("units_per_ping", [1, 2**20])
@pytest.mark.parametrize("of", [_laplace, _gaussian])
def test_figures_in_pings_agree_with_samples_in_units(of: Callable[[int], Mechanism], units_per_ping: int) -> None:
    noise = Noise(of(units_per_ping), units_per_ping)
    samples = noise.mechanism.sample(200_000, seeded_words(1, 0)) / units_per_ping
    perturbations = noise.perturbations((200_000,), np.random.default_rng(0))
    assert perturbations.dtype == np.float32
    assert noise.scale == pytest.approx(7)
    assert samples.var() == pytest.approx(noise.variance, rel=0.03)
    assert np.mean(perturbations.astype(float) ** 2) == pytest.approx(noise.perturbation_variance, rel=0.03)
    # An estimate that follows its noise altogether pays the variance for it.
    assert noise.perturbation_weight * perturbations.mean() == pytest.approx(noise.variance, rel=0.03)
    assert (noise.depth > 0) == (of is _gaussian)


def test_a_distribution_in_pings_is_seen_through_the_noise_in_units() -> None:
    mass, n = np.eye(30)[4], np.arange(30)
    for units in (1, 2**20):
        laplace, gaussian = (Noise(of(units), units).convolve(mass, 2.0) for of in (_laplace, _gaussian))
        np.testing.assert_allclose(laplace, np.exp(-abs(n - 4) * 2.0 / 7), rtol=1e-9)
        np.testing.assert_allclose(gaussian, np.exp(-(((n - 4) * 2.0 / 7) ** 2) / 2), rtol=1e-9)


@dataclass(frozen=True)
class _Coin:
    """Noise of plus or minus one: a mechanism that protects little, in no file of ours."""

    name = "coin"
    scale = 1
    variance = 1.0
    depth = 1.0
    perturbation_weight = 1.0

    def sample(self, size: int, random_words: object) -> np.ndarray:
        return np.where(random_words(size) & np.uint64(1), 1, -1).astype(np.int64)  # type: ignore[operator]


@pytest.fixture
def _coins_registered() -> Iterator[None]:
    MECHANISMS["coin"] = lambda _sensitivity, _epsilon: _Coin()  # type: ignore[assignment,return-value]
    yield
    del MECHANISMS["coin"]


@pytest.mark.usefixtures("_coins_registered")
def test_another_mechanism_is_a_line_in_the_registry() -> None:
    noise = Noise(build_mechanism("coin", 1, Price.epsilon(1)), 2)
    assert (noise.variance, noise.deviation, noise.depth, noise.perturbation_weight) == (0.25, 0.5, 0.5, 0.5)
    assert set(noise.mechanism.sample(100, seeded_words(0, 0)).tolist()) == {-1, 1}
