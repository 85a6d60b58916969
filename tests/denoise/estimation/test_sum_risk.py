"""The errors of sums, judged without the truth, beside the true ones."""

import numpy as np
import pytest

from tests.denoise.estimation.test_reconcile import with_noise
from tests.denoise.laplace import laplace_noise
from vdr_spark.denoise.estimation import sum_risk
from vdr_spark.denoise.estimation.blocks import Level
from vdr_spark.denoise.estimation.perturbation import perturb
from vdr_spark.denoise.estimation.reconcile import Denoised, Twins
from vdr_spark.denoise.estimation.sum_risk import SumRisks, judge_sums
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
    """An estimate and the errors of its sums that a release would carry."""
    estimate, found = risks_of(follows, factors, seed)
    return estimate, found.errors


def risks_of(follows: float, factors: np.ndarray, seed: int = 0) -> tuple[np.ndarray, SumRisks]:
    """An estimate and the judgement of its sums; it follows a share of each cell's noise, and errs by the factors."""
    truth = np.full(SHAPE, RATE)
    noisy = with_noise(truth, NOISE, seed)
    perturbed = perturb(noisy, NOISE, seed)
    first, second = (
        Denoised(of, (factors * truth + follows * (of - truth)).astype(np.float32), of, np.ones(SHAPE, bool))
        for of in (noisy, perturbed.noisy)
    )
    return first.counts, judge_sums(Twins(first, second, perturbed.signs), NOISE)


def variances(errors: SumErrors, level: Level, estimate: np.ndarray) -> np.ndarray:
    sums = level.sums(estimate)
    cells, slices = level.sums(np.ones(SHAPE)), np.full(sums.shape, float(level.slices))
    return errors.variance(cells, slices, sums, np.zeros_like(sums))


@pytest.mark.parametrize("follows", [0.2, 0.5, 0.8])
def test_independent_errors_have_about_the_right_risk_at_every_size(follows: float) -> None:
    several = [risks_of(follows, np.ones(SHAPE[1:]), seed)[1].risks for seed in range(8)]
    for level in LEVELS:
        found = np.array([of[level] for of in several])
        # Sizes of few blocks learn from the others, which are as good.
        assert found.mean() == pytest.approx(follows**2, abs=0.02 + 3 * found.std() / np.sqrt(len(found))), level


def test_bars_are_wider_than_the_risk_by_what_is_said_and_by_caution(monkeypatch: pytest.MonkeyPatch) -> None:
    estimate, found = risks_of(0.5, np.ones(SHAPE[1:]))
    for level in (Level(1, 1), Level(4, 1)):
        noise = NOISE.variance * level.side**2 * level.slices
        wanted = sum_risk._AT_PINGS[level.side] * found.risks[level]
        assert variances(found.errors, level, estimate).mean() / noise == pytest.approx(wanted, abs=0.03)
    monkeypatch.setattr(sum_risk, "_CAUTION", 3.0)
    _, cautious = risks_of(0.5, np.ones(SHAPE[1:]))
    assert cautious.risks == found.risks
    assert all(a.spread >= b.spread for a, b in zip(cautious.errors.spreads, found.errors.spreads, strict=True))
    assert any(a.spread > b.spread for a, b in zip(cautious.errors.spreads, found.errors.spreads, strict=True))


def test_the_overall_error_tells_a_better_estimate() -> None:
    good, bad = (risks_of(follows, np.ones(SHAPE[1:]))[1].overall for follows in (0.2, 0.8))
    assert good < 0.1 < 0.5 < bad < 1
    alike = risks_of(0.2, alike_in_blocks(0.05))[1].overall  # as good in cells, not in districts
    assert alike > 2 * good


def test_errors_that_are_alike_add_up() -> None:
    estimate, errors = judged(0.0, alike_in_blocks(0.01))
    cell, district = (variances(errors, level, estimate).mean() for level in (Level(1, 1), Level(16, 8)))
    actual = np.mean((Level(16, 8).sums(estimate) - RATE * 16 * 16 * 8) ** 2)
    assert district > 5 * 16 * 16 * 8 * cell
    assert 0.5 * actual < district < 3 * actual


@pytest.mark.parametrize(("follows", "size"), [(0.5, 0.0), (0.4, 0.01), (0.2, 0.008)])
def test_error_bars_cover_about_what_they_say(follows: float, size: float) -> None:
    several = [judged(follows, alike_in_blocks(size), seed) for seed in range(6)]
    for level in LEVELS:
        truth = RATE * level.sums(np.ones(SHAPE))
        covered = [
            np.mean(abs(level.sums(estimate) - truth) <= np.sqrt(variances(errors, level, estimate)))
            for estimate, errors in several
        ]
        assert 0.6 < np.mean(covered) < 0.96, level  # nominally 0.68, and wider for who asks where people are


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
    errors = judge_sums(Twins(empty, empty, np.zeros(shape, np.int8)), NOISE).errors
    assert all(np.isfinite(of.spread) and of.spread > 0 for of in errors.spreads)
    assert errors.deviation(1, 1, 0.0, 0.0) == 0
