"""The identity behind estimated risks: exact for small noise, and as nearly right as the docstring says for large."""

from collections.abc import Callable

import numpy as np
import pytest

from vdr_spark.privacy.gaussian_steps import GaussianSteps

SIGMAS = [0.3, 0.7, 1.0, 1.11, 1.15, 1.2, 1.4, 1.7, 2.0, 2.5, 3.0, 3.4, 5.0, 7.0, 12.0, 100.0]


def measure(sigma: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All n that matter, n P(n), and what the steps make of P."""
    steps = GaussianSteps.of(sigma)
    reach = int(np.abs(steps.sizes).max() + 12 * sigma) + 3
    n = np.arange(-2 * reach, 2 * reach + 1)
    p = np.exp(-np.square(n / sigma) / 2)
    p /= p.sum()
    by_steps = sum(
        (
            weight / 2 * (np.roll(p, size) - np.roll(p, -size))
            for size, weight in zip(steps.sizes, steps.weights, strict=True)
        ),
        np.zeros_like(p),
    )
    return n, n * p, by_steps


@pytest.mark.parametrize("sigma", SIGMAS)
def test_no_estimate_between_minus_one_and_one_is_misjudged_by_more_than_the_bound(sigma: float) -> None:
    _, exact, by_steps = measure(sigma)
    largest = np.abs(exact - by_steps).sum()
    assert largest < (1e-12 if sigma <= 1.11 else 0.006 * sigma)


def test_there_is_something_to_bound() -> None:
    """Steps of one size, the textbook's difference quotient, are fifty times as wrong."""
    n, exact, _ = measure(12.0)
    p = np.divide(exact, n, out=np.full(len(n), 0.0), where=n != 0)
    quotient = 12.0**2 / 2 / 12 * (np.roll(p, 12) - np.roll(p, -12))
    assert np.abs(exact - quotient).sum() > 0.2 * 12


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("estimate", [lambda n: n, np.abs, lambda n: np.maximum(n, 0), lambda n: (n > 1) * 1.0])
def test_estimates_that_occur_are_judged_closely(sigma: float, estimate: Callable[[np.ndarray], np.ndarray]) -> None:
    n, exact, by_steps = measure(sigma)
    g = estimate(n)
    assert by_steps @ g == pytest.approx(exact @ g, rel=0.004, abs=1e-6 * sigma)


@pytest.mark.parametrize("sigma", [0.3, 1.0, 4.0, 2.0**50, 2.0**56])
def test_samples_have_the_weights_and_the_variance(sigma: float) -> None:
    steps = GaussianSteps.of(sigma)
    samples = steps.sample((200_000,), np.random.default_rng(0)).astype(float)
    sizes = steps.sizes.astype(float)
    assert np.mean(samples**2) == pytest.approx(steps.variance, rel=0.05)
    assert samples.mean() * steps.weight == pytest.approx(
        steps.weights @ sizes, abs=6 * steps.weight * (steps.variance / 200_000) ** 0.5
    )
    assert (np.abs(sizes) < 11 * sigma + 3e2).all()  # the farthest step that can occur at all


def test_no_noise_to_speak_of_has_no_weight() -> None:
    steps = GaussianSteps.of(1e-5)
    assert steps.weight == 0
    assert steps.sample((3,), np.random.default_rng(0)).tolist() == [1, 1, 1]
