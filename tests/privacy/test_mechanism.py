"""The registry of mechanisms, and the noise of a cell in pings."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from vdr_spark.errors import InvalidConfig
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.mechanism import MECHANISMS, Noise, build_mechanism
from vdr_spark.privacy.noise_check import LaplaceCheck
from vdr_spark.privacy.randomness import seeded_words


def test_a_mechanism_is_calibrated_exactly() -> None:
    mechanism = build_mechanism("discrete_laplace", 5 * 2**20, Fraction("0.7"))
    assert mechanism == DiscreteLaplace(Fraction(5 * 2**20 * 10, 7))
    assert mechanism.name == "discrete_laplace"
    assert mechanism.noise_check() == LaplaceCheck(Fraction(5 * 2**20 * 10, 7))


def test_every_mechanism_is_known_by_its_own_name() -> None:
    for name, build in MECHANISMS.items():
        assert build(1, Fraction(1)).name == name


def test_an_unknown_mechanism_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidConfig, match="one of discrete_laplace, not 'magic'"):
        build_mechanism("magic", 1, Fraction(1))


@pytest.mark.parametrize("units_per_ping", [1, 2**20])
def test_figures_in_pings_agree_with_samples_in_units(units_per_ping: int) -> None:
    noise = Noise(DiscreteLaplace(Fraction(7) * units_per_ping), units_per_ping)
    samples = noise.mechanism.sample(200_000, seeded_words(1, 0)) / units_per_ping
    perturbations = noise.perturbations((200_000,), np.random.default_rng(0))
    assert perturbations.dtype == np.float32
    assert samples.var() == pytest.approx(noise.variance, rel=0.03)
    assert np.mean(perturbations.astype(float) ** 2) == pytest.approx(noise.variance, rel=0.03)
    assert noise.perturbation_weight == pytest.approx(2 * noise.scale, rel=0.02)
    mass, n = np.eye(30)[4], np.arange(30)
    np.testing.assert_allclose(noise.convolve(mass, 2.0), np.exp(-abs(n - 4) * 2.0 / 7), rtol=1e-9)


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
    noise = Noise(build_mechanism("coin", 1, Fraction(1)), 2)
    assert (noise.variance, noise.deviation, noise.depth, noise.perturbation_weight) == (0.25, 0.5, 0.5, 0.5)
    assert set(noise.mechanism.sample(100, seeded_words(0, 0)).tolist()) == {-1, 1}
