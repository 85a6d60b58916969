"""Refinement's factors, by the formula and by what they are for: the least squared error."""

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.randomness import seeded_words
from vdr_spark.refine import (
    Refinement,
    choose_refinement,
    estimate_kept,
    gamma,
    kappa,
    refine_sum_errors,
)
from vdr_spark.storage.tensor_file import Tensor
from vdr_spark.sum_errors import Spread, SumErrors, Total, missing_together

Small = Callable[..., ReleaseConfig]


def holding(total: float, prior: float | None) -> Tensor:
    """A denoised tensor whose counts, and prior, sum to this."""
    counts, expected = (None if of is None else np.full((1, 2, 2), of / 4, np.float32) for of in (total, prior))
    assert counts is not None
    return Tensor(counts, np.zeros_like(counts), expected, expected)


def release_of(config: ReleaseConfig) -> ReleasePlan:
    return make_plan(config).releases(config.privacy.total_pings or 0)[0]


def test_gamma_minimises_the_squared_error_of_the_noisy_tensor(small_config: Small) -> None:
    plan = release_of(small_config("privacy.total_pings=40000", "privacy.k=30"))
    grid, rng = plan.grid, np.random.default_rng(0)
    shares = rng.dirichlet(np.full(grid.size, 0.2))
    truth = rng.multinomial(40_000, shares)
    kept = rng.binomial(truth, 0.3)
    noisy = kept + plan.noise.mechanism.sample(grid.size, seeded_words(1, 0))
    factors = np.linspace(0.1, 5, 200)
    best = factors[np.argmin([np.square(factor * noisy - truth).sum() for factor in factors])]
    noise = grid.size * plan.noise.variance
    assert gamma(kept.sum(), 40_000, noise, (shares**2).sum()) == pytest.approx(best, rel=0.1)
    assert 40_000 / kept.sum() > 1.2 * best  # plain N / n would blow the noise up


def test_gamma_by_hand(small_config: Small) -> None:
    settings = ("privacy.total_pings=1000", "privacy.k=300", "privacy.epsilon=1.5", "refine.concentration=0.01")
    plan = release_of(small_config(*settings, "refine.method=gamma"))
    m, n = plan.grid.size, 400.0
    expected = n * 1000 * 0.01 / (2 * m * 200**2 + 0.99 * n + 0.01 * n * n)  # 2 k**2 / epsilon**2, as in the paper
    assert choose_refinement(plan, n, 1000.0, holding(77.0, None)).factor == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize(("total", "expected"), [(-50.0, 1.0), (300.0, 300.0), (5000.0, 1000.0)])
def test_pings_kept_stays_within_what_is_possible(total: float, expected: float) -> None:
    assert estimate_kept(total, 1000) == expected


@pytest.mark.parametrize(
    ("method", "expected"), [("ratio", Refinement(2.0)), ("calibrated", Refinement(2.5, 0.5))], ids=str
)
def test_factor_and_kappa_by_method(small_config: Small, method: str, expected: Refinement) -> None:
    plan = release_of(small_config(f"refine.method={method}"))
    assert choose_refinement(plan, 250.0, 1000.0, holding(500.0, 300.0)) == expected  # pulled to 400, halfway


@pytest.mark.parametrize("method", ["ratio", "calibrated"])
@pytest.mark.parametrize("kept", [40.0, 250.0, 1000.0])
def test_a_release_sums_to_all_pings(small_config: Small, method: str, kept: float) -> None:
    """Whatever the denoised counts and the prior sum to, and however far one is pulled towards the other."""
    plan, rng = release_of(small_config(f"refine.method={method}")), np.random.default_rng(0)
    counts, prior = (rng.gamma(0.3, size, (3, 20, 20)).astype(np.float32) for size in (2.0, 5.0))
    denoised = Tensor(counts, np.sqrt(counts), prior, np.sqrt(prior))
    refinement = choose_refinement(plan, kept, 1000.0, denoised)
    assert (refinement.kappa < 1) == (method == "calibrated" and kept < 1000)
    assert refinement.apply(denoised).counts.sum(dtype=np.float64) == pytest.approx(1000, rel=1e-5)


def test_an_empty_tensor_is_not_divided_by(small_config: Small) -> None:
    plan = release_of(small_config("refine.method=calibrated"))
    assert choose_refinement(plan, 250.0, 1000.0, holding(0.0, 0.0)).factor == 1000


def test_the_paper_s_factor_leaves_deviations_from_the_prior_alone(small_config: Small) -> None:
    plan = release_of(small_config("refine.method=gamma"))
    assert choose_refinement(plan, 400.0, 1000.0, holding(500.0, 300.0)).kappa == 1


NORM = "privacy={rho: 1/2, delta: 1e-9, total_pings: 1000, bounding: l2, norm: 10}"


def test_norms_weigh_users_so_alike_that_deviations_are_kept(small_config: Small) -> None:
    plan = release_of(small_config("refine.method=calibrated", NORM))
    assert choose_refinement(plan, 250.0, 1000.0, holding(500.0, 300.0)) == Refinement(2.0)


def test_of_users_who_come_independently_norms_keep_more_than_sums() -> None:
    """The shares of `kappa`'s docstring, on pings of their own in m cells each, log m of variance v."""
    m = np.exp(np.random.default_rng(0).normal(3, 0.8, 200_000))
    by_norm, by_sum = (np.mean(w * m) ** 2 / np.mean(m) / np.mean(w**2 * m) for w in (m**-0.5, 1 / m))
    assert by_norm == pytest.approx(math.exp(-0.64 / 4), rel=0.02)
    assert by_sum == pytest.approx(math.exp(-0.64), rel=0.02)


def test_a_norm_takes_the_place_of_k_in_the_errors_of_sums(small_config: Small) -> None:
    """Counts whose norm is s add up to s at least, so that no more users reach it than reach a sum of s."""
    found = refine_sum_errors(release_of(small_config(NORM)), DENOISING, 2.0, kept=500.0, kept_everywhere=500.0)
    assert found is not None
    assert found.spreads[-1].clump == missing_together(10, 500.0, 1000.0, "people", 1)


def test_kappa_is_one_where_all_pings_are_kept() -> None:
    assert kappa(1000.0, 1000.0) == 1
    assert kappa(1000.0, 990.0) == 1  # n is an estimate and may exceed N
    assert kappa(40.0, 1000.0) == pytest.approx(0.2)


def test_chance_of_what_was_kept_is_taken_back_and_widens_the_error_bars() -> None:
    layers = [np.full((1, 1, 1), value, np.float32) for value in (30, 3, 10, 8)]
    refined = Refinement(4.0, 0.5).apply(Tensor(*layers))
    assert refined.counts[0, 0, 0] == 4 * (10 + 0.5 * 20)
    assert refined.deviation is not None
    assert refined.deviation[0, 0, 0] == pytest.approx(4 * (0.25 * 9 + 0.25 * 64) ** 0.5)


def test_without_a_prior_counts_are_scaled_only(small_config: Small) -> None:
    plan = release_of(small_config("refine.method=calibrated"))
    assert choose_refinement(plan, 400.0, 1000.0, holding(500.0, None)) == Refinement(2.0)
    counts = np.array([[[3.0]]], np.float32)
    refined = Refinement(4.0).apply(Tensor(counts, counts))
    assert refined.counts[0, 0, 0] == 12
    assert refined.deviation is not None
    assert refined.deviation[0, 0, 0] == 12


def test_calibrated_beats_plain_scaling_of_a_thin_sample() -> None:
    """Pings that come independently: a cell's kept count is mostly chance, what was expected of it is not."""
    rng = np.random.default_rng(0)
    rate = rng.gamma(2.0, 10.0, (1, 200, 200))
    truth = rng.poisson(rate)
    kept = rng.binomial(truth, 0.1).astype(np.float32)
    prior = (0.1 * rate).astype(np.float32)
    tensor = Tensor(kept, np.zeros_like(kept), prior, np.sqrt(prior))
    plain, calibrated = (Refinement(10.0, k).apply(tensor) for k in (1.0, kappa(0.1, 1.0)))
    assert np.mean((calibrated.counts - truth) ** 2) < 0.3 * np.mean((plain.counts - truth) ** 2)
    assert calibrated.deviation is not None
    # The error bars cover at least what happened.
    assert np.mean((calibrated.counts - truth) ** 2) < 1.2 * np.mean(calibrated.deviation**2)


def test_what_bounding_misses_widens_the_error_bars_of_cells() -> None:
    counts = np.array([[[0, 4, 100]]], np.float32)
    tensor = Tensor(counts, np.full_like(counts, 3.0))
    errors = SumErrors(9.0, (Spread(1, 1, 0.1, clump=2.5),))
    plain, widened = Refinement(2.0).apply(tensor), Refinement(2.0).apply(tensor, errors)
    np.testing.assert_array_equal(widened.counts, plain.counts)
    assert widened.deviation is not None
    by_clumps = [2.5 * count * (1 + 2.5 / (count + 0.05)) for count in (0, 8, 200)]
    np.testing.assert_allclose(widened.deviation, np.sqrt([[[36 + of for of in by_clumps]]]), rtol=1e-6)


DENOISING = {"sum_errors": SumErrors(9.0, (Spread(1, 1, 0.1), Spread(1, 4, 0.1)), 50.0).as_notes()}


def test_errors_of_sums_are_scaled_and_know_of_the_bound_and_of_n(small_config: Small) -> None:
    plan = release_of(small_config("privacy.k=10", "privacy.total_pings=1000"))
    found = refine_sum_errors(plan, DENOISING, 2.0, kept=500.0, kept_everywhere=500.0)
    assert found is not None
    assert found.noise_deviation == 18
    assert found.spreads[-1].clump == missing_together(10, 500.0, 1000.0, "people", 1) > 0
    assert found.total == Total(1000.0)  # declared: there is nothing else to be off by
    assert found.deviation(plan.grid.size, plan.grid.slices, 1000.0, own=0.0) == pytest.approx(0, abs=1e-5)
    assert refine_sum_errors(plan, {}, 2.0, 500.0, 500.0) is None


def test_vehicles_roam(small_config: Small) -> None:
    clumps = []
    for users in ("people", "vehicles"):
        plan = release_of(small_config("privacy.k=10", "privacy.total_pings=1000", f"refine.users={users}"))
        found = refine_sum_errors(plan, DENOISING, 2.0, 500.0, 500.0)
        assert found is not None
        clumps.append(found.clump_of_cell)
    assert clumps[0] == pytest.approx(10 * clumps[1])


def test_a_share_of_n_is_known_through_the_noise_of_the_regions(small_config: Small) -> None:
    """Half of the kept pings here, half there: what is too much here is missing there."""
    alone = release_of(small_config("privacy.k=10", "privacy.total_pings=1000"))
    plan = replace(alone, plan=replace(alone.plan, regions=alone.plan.regions * 2))
    found = refine_sum_errors(plan, DENOISING, 2.0, kept=250.0, kept_everywhere=500.0)
    assert found is not None
    assert found.total is not None
    assert found.total.pings == 500
    assert found.total.deviation == pytest.approx(2 * plan.noise.deviation * math.sqrt(plan.grid.size / 2))


def test_an_estimated_n_is_known_through_its_noise(small_config: Small) -> None:
    estimated = ("privacy.total_pings=null", "privacy.k=10", "privacy.estimate_total={share: 1/2, max_per_user: 100}")
    plan = make_plan(small_config(*estimated)).releases(1000)[0]
    found = refine_sum_errors(plan, DENOISING, 2.0, 500.0, 500.0)
    assert found is not None
    assert found.total is not None
    assert plan.plan.noise_of_total is not None
    assert found.total.deviation == pytest.approx(plan.plan.noise_of_total.deviation)


def test_the_papers_gamma_does_not_sum_to_n(small_config: Small) -> None:
    plan = release_of(small_config("refine.method=gamma", "denoise.model=vqvae", "denoise.fusion=false"))
    found = refine_sum_errors(plan, DENOISING, 2.0, 500.0, 500.0)
    assert found is not None
    assert found.total is None
