"""The noise is measured by negative cells alone, whatever people did; broken noise is found."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray

from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.privacy.noise_check import LaplaceCheck
from vdr_spark.privacy.randomness import seeded_words

CELLS = 200_000
Counts = NDArray[np.int64]


def noise(scale: Fraction, cells: int = CELLS, seed: int = 1) -> Counts:
    return DiscreteLaplace(scale).sample(cells, seeded_words(seed, 0))


def problems(noisy: Counts, scale: Fraction) -> list[str]:
    check = LaplaceCheck(scale)
    return list(check.contradictions(check.tally(noisy)))


@pytest.mark.parametrize("scale", [Fraction(1, 20), Fraction(1, 2), Fraction(5, 3), Fraction(30), Fraction(2**40)])
@pytest.mark.parametrize("people", ["none", "everywhere", "few"])
def test_right_noise_agrees_wherever_people_are(scale: Fraction, people: str) -> None:
    rng = np.random.default_rng(2)
    counts = {
        "none": np.zeros(CELLS, np.int64),
        "everywhere": rng.poisson(2 * float(scale) + 1, CELLS).astype(np.int64),
        "few": (rng.pareto(1.0, CELLS) * (rng.random(CELLS) < 0.1)).astype(np.int64),
    }[people]
    noisy = counts + noise(scale)
    assert problems(noisy, scale) == []
    estimated = LaplaceCheck(scale).estimate_scale(LaplaceCheck(scale).tally(noisy))
    if scale > 1:
        assert estimated == pytest.approx(float(scale), rel=0.02)


def rounded_normal(scale: Fraction) -> Counts:
    # As large as Laplace noise where it is negative, and of another shape.
    return np.rint(np.random.default_rng(3).normal(0, float(scale) * (np.pi / 2) ** 0.5, CELLS)).astype(np.int64)


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        pytest.param(lambda scale: noise(scale * Fraction(7, 10)), "below zero on average", id="scale 0.7"),
        pytest.param(lambda scale: noise(scale * Fraction(103, 100)), "below zero on average", id="scale 1.03"),
        pytest.param(lambda scale: 2 * (noise(scale) // 2), "coarser", id="even numbers only"),
        pytest.param(rounded_normal, "spread as discrete Laplace", id="another shape"),
        pytest.param(
            lambda scale: noise(scale) * (np.random.default_rng(4).random(CELLS) < 0.9), "exactly zero", id="not all"
        ),
        pytest.param(lambda scale: -np.abs(noise(scale)), "negative; noise on every cell", id="one side"),
        pytest.param(lambda _: np.zeros(CELLS, np.int64), "exactly zero", id="none"),
    ],
)
def test_broken_noise_is_found(broken: Callable[[Fraction], Counts], words: str) -> None:
    scale = Fraction(30)
    assert any(words in problem for problem in problems(broken(scale), scale))


def test_few_cells_say_nothing() -> None:
    check = LaplaceCheck(Fraction(3))
    assert check.estimate_scale(check.tally(noise(Fraction(3), cells=50))) is None


def test_tallies_add_up() -> None:
    check, noisy = LaplaceCheck(Fraction(3)), noise(Fraction(3))
    parts, whole = check.tally(noisy[:70_000]) + check.tally(noisy[70_000:]), check.tally(noisy)
    assert (parts.cells, parts.zeros, parts.negative, parts.odd, parts.total) == (
        whole.cells,
        whole.zeros,
        whole.negative,
        whole.odd,
        whole.total,
    )
    assert (parts.bins == whole.bins).all()


@pytest.mark.parametrize("epsilon", [2.7, 6.9, 8.3, 9.0])
def test_little_noise_is_no_false_alarm(epsilon: float) -> None:
    """A hundred negative cells nearly all of which are -1: one -2 among them proves nothing."""
    scale = Fraction(1) / Fraction(str(epsilon))
    p = np.exp(-epsilon)
    cells = int(110 * (1 + p) / p)
    noisy = DiscreteLaplace(scale).sample(cells * 40, seeded_words(5, 0)).reshape(40, cells)
    assert [problem for sample in noisy for problem in problems(sample, scale)] == []
