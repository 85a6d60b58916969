"""The errors of sums, judged without the truth, beside the true ones."""

import numpy as np
import pytest

from tests.denoise.estimation.test_reconcile import ADDED, with_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.reconcile import Denoised, Twins
from vdr_spark.denoise.estimation.sum_risk import judge_sums
from vdr_spark.sum_errors import SumErrors

NOISE = laplace_noise(2.0)
SHAPE = (8, 128, 128)
RATE = 5.0
LEVELS = [Level(1, 1), Level(4, 1), Level(16, 1), Level(4, 8), Level(16, 8)]


def alike_in_blocks(size: float) -> np.ndarray:
    """Factors around 1 that are the same in all cells and slices of a district of 16 x 16 cells. (M, M)"""
    districts = 1 + size * np.random.default_rng(5).standard_normal((8, 8))
    return np.kron(districts, np.ones((16, 16)))


def judged(follows: float, factors: np.ndarray, seed: int = 0) -> tuple[np.ndarray, SumErrors]:
    """An estimate and its errors of sums; it follows a share of each cell's noise, and errs by the factors."""
    truth = np.full(SHAPE, RATE)
    noisy = with_noise(truth, NOISE, seed)
    more = np.random.default_rng([seed, 7]).normal(0, np.sqrt(ADDED) * NOISE.deviation, SHAPE)
    noisier = (noisy + more).astype(np.float32)
    first, second = (
        Denoised(of, (factors * truth + follows * (of - truth)).astype(np.float32), of, np.ones(SHAPE, bool))
        for of in (noisy, noisier)
    )
    return first.counts, judge_sums(Twins(first, second), NOISE)


def variances(errors: SumErrors, level: Level, estimate: np.ndarray) -> np.ndarray:
    sums = level.sums(estimate)
    cells, slices = level.sums(np.ones(SHAPE)), np.full(sums.shape, float(level.slices))
    return errors.variance(cells, slices, sums, np.zeros_like(sums))


@pytest.mark.parametrize("follows", [0.2, 0.5, 0.8])
def test_independent_errors_have_about_the_right_variance_at_every_size(follows: float) -> None:
    several = [judged(follows, np.ones(SHAPE[1:]), seed) for seed in range(8)]
    for level in LEVELS:
        expected = follows**2 * NOISE.variance * level.side**2 * level.slices
        found = np.mean([variances(errors, level, estimate).mean() for estimate, errors in several])
        # One deviation of what cannot be known is added: the fewer blocks, the more.
        blocks = 128**2 * 8 / (level.side**2 * level.slices)
        caution = 3 * NOISE.variance * level.side**2 * level.slices / np.sqrt(blocks)
        assert 0.9 * expected < found < 1.1 * expected + caution, level


def test_errors_that_are_alike_add_up() -> None:
    estimate, errors = judged(0.0, alike_in_blocks(0.01))
    cell, district = (variances(errors, level, estimate).mean() for level in (Level(1, 1), Level(16, 8)))
    actual = np.mean((Level(16, 8).sums(estimate) - RATE * 16 * 16 * 8) ** 2)
    assert district > 5 * 16 * 16 * 8 * cell
    assert 0.5 * actual < district < 2 * actual


@pytest.mark.parametrize(("follows", "size"), [(0.5, 0.0), (0.4, 0.01), (0.2, 0.008)])
def test_error_bars_cover_about_what_they_say(follows: float, size: float) -> None:
    several = [judged(follows, alike_in_blocks(size), seed) for seed in range(6)]
    for level in LEVELS:
        truth = RATE * level.sums(np.ones(SHAPE))
        covered = [
            np.mean(abs(level.sums(estimate) - truth) <= np.sqrt(variances(errors, level, estimate)))
            for estimate, errors in several
        ]
        assert 0.6 < np.mean(covered) < 0.9, level  # nominally 0.68


def test_all_pairs_of_sides_and_numbers_of_slices_are_judged() -> None:
    _, errors = judged(0.5, np.ones(SHAPE[1:]))
    assert {(of.side, of.slices) for of in errors.spreads} == {(s, n) for s in (1, 4, 16, 64) for n in (1, 8)}
    assert errors.noise_deviation == NOISE.deviation


def test_where_blocks_are_too_few_to_tell_sums_are_as_uncertain_as_noisy_ones() -> None:
    estimate, errors = judged(0.5, np.ones(SHAPE[1:]))
    level = Level(64, 8)  # four of them
    np.testing.assert_allclose(variances(errors, level, estimate), 64 * 64 * 8 * NOISE.variance, rtol=0.01)


@pytest.mark.parametrize("shape", [(1, 1, 1), (2, 5, 5), (1, 40, 40)], ids=str)
def test_any_shape_and_empty_estimates(shape: tuple[int, int, int]) -> None:
    zeros = np.zeros(shape, np.float32)
    empty = Denoised(zeros, zeros, zeros, np.ones(shape, bool))
    errors = judge_sums(Twins(empty, empty), NOISE)
    assert all(np.isfinite(of.spread) and of.spread > 0 for of in errors.spreads)
    assert errors.deviation(1, 1, 0.0, 0.0) == 0
