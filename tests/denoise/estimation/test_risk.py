"""The estimated error of an estimate, beside its true error on counts that the test made itself."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.ndimage import uniform_filter

from tests.denoise.gaussian import gaussian_noise, under_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.risk import estimate_risk
from vdr_spark.privacy.mechanism import Noise

Slices = NDArray[np.float32]


def truth_and_noisy(noise: Noise, seed: int = 0) -> tuple[Slices, Slices]:
    """A skewed city, and the same under the noise. (6, 200, 200) each"""
    random = np.random.default_rng(seed)
    rate = random.gamma(0.3, 8, size=(1, 200, 200)).repeat(6, axis=0)
    true = random.poisson(rate).astype(np.float32)
    return true, under_noise(true, noise, seed + 1)


ESTIMATES: dict[str, Callable[[Slices], Slices]] = {
    "identity": lambda y: y,
    "nothing": np.zeros_like,
    "clipped": lambda y: np.maximum(y, 0),
    "shrunk": lambda y: 0.4 * y + 1,
    "step": lambda y: np.where(y > 7, 20, 0).astype(np.float32),  # as a codebook: no slope anywhere
    "mean around": lambda y: uniform_filter(y, (0, 3, 3)),
    "blocks": lambda y: y.reshape(6, 50, 4, 50, 4).mean((2, 4)).repeat(4, 1).repeat(4, 2),
    "corners": lambda y: np.where(np.indices(y.shape[1:]).sum(0) % 4, 0, y).astype(np.float32),  # by place in a grid
    "blind": lambda y: (9 * uniform_filter(y, (0, 3, 3)) - y) / 8,
}


NOISES = {
    "small": laplace_noise(0.5),
    "large": laplace_noise(5.0),
    "weights": laplace_noise(5.0, 2**20),
    "small Gaussian": gaussian_noise(0.7),
    "Gaussian": gaussian_noise(7.0),
    "Gaussian weights": gaussian_noise(7.0, 2**20),
}


@pytest.mark.parametrize("noise", NOISES.values(), ids=NOISES)
@pytest.mark.parametrize("name", ESTIMATES)
def test_it_tracks_the_true_risk(noise: Noise, name: str) -> None:
    true, noisy = truth_and_noisy(noise)
    estimate = ESTIMATES[name]
    actual = float(np.mean((estimate(noisy) - true) ** 2))
    found = np.mean([estimate_risk(noisy, estimate, noise, seed) for seed in range(8)])
    assert found == pytest.approx(actual, rel=0.08, abs=0.02 * noise.variance)


@pytest.mark.parametrize("name", ESTIMATES)
def test_weights_say_which_cells_matter(name: str) -> None:
    noise = laplace_noise(5.0)
    true, noisy = truth_and_noisy(noise)
    weights = true.mean(axis=0) / true.mean()
    estimate = ESTIMATES[name]
    actual = float(np.mean(weights * (estimate(noisy) - true) ** 2))
    found = np.mean([estimate_risk(noisy, estimate, noise, seed, weights) for seed in range(16)])
    assert found == pytest.approx(actual, rel=0.1, abs=0.05 * noise.variance)


@pytest.mark.parametrize("noise", [laplace_noise(5.0), gaussian_noise(7.0)], ids=["Laplace", "Gaussian"])
def test_it_ranks_estimates_as_the_truth_does(noise: Noise) -> None:
    true, noisy = truth_and_noisy(noise)
    actual = {name: float(np.mean((estimate(noisy) - true) ** 2)) for name, estimate in ESTIMATES.items()}
    found = {name: estimate_risk(noisy, estimate, noise) for name, estimate in ESTIMATES.items()}
    clearly_better = [(a, b) for a in ESTIMATES for b in ESTIMATES if actual[a] < 0.85 * actual[b]]
    assert len(clearly_better) > 20
    assert all(found[a] < found[b] for a, b in clearly_better)


@pytest.mark.parametrize("noise", [laplace_noise(5.0), gaussian_noise(7.0)], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize("side", [5, 9, 33])
def test_cells_that_are_perturbed_at_once_do_not_disturb_each_other(noise: Noise, side: int) -> None:
    """A wide mean of empty country is nearly right, and must be seen to be."""
    noisy = truth_and_noisy(noise)[1] - truth_and_noisy(noise)[0]
    found = np.mean([estimate_risk(noisy, lambda y: uniform_filter(y, (0, side, side)), noise, s) for s in range(8)])
    assert found == pytest.approx(noise.variance / side**2, abs=0.004 * noise.variance)


def test_reproducing_the_noise_is_found_out() -> None:
    """The residual alone would call it perfect."""
    noise = laplace_noise(5.0)
    _, noisy = truth_and_noisy(noise)
    assert estimate_risk(noisy, lambda y: y, noise) == pytest.approx(noise.variance, rel=0.05)


@pytest.mark.parametrize("noise", [laplace_noise(1e-5), gaussian_noise(1e-5)], ids=["Laplace", "Gaussian"])
def test_no_noise_to_speak_of_is_no_trouble(noise: Noise) -> None:
    counts = np.ones((1, 8, 8), np.float32)
    assert noise.variance == 0
    assert estimate_risk(counts, lambda y: y + 1, noise) == pytest.approx(1)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 2, 2), (3, 9, 9)])
def test_small_tensors_work(shape: tuple[int, int, int]) -> None:
    assert np.isfinite(estimate_risk(np.ones(shape, np.float32), lambda y: y / 2, laplace_noise(2.0)))
