"""The errors of sums: by hand at the sizes that are known, and between them."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from vdr_spark.rounding import round_counts, round_deviations
from vdr_spark.sum_errors import (
    CLUMP_BY_CHANCE,
    Spread,
    SumErrors,
    Total,
    Users,
    deviation_by_chance,
    missing_together,
    widen_by_clumps,
)

SPREADS = (Spread(1, 1, 0.01), Spread(4, 1, 0.04), Spread(1, 9, 0.1), Spread(4, 9, 0.4))
ERRORS = SumErrors(5.0, SPREADS)


def by_hand(noise: float, cells: float, spread: float, count: float) -> float:
    deviation = noise * math.sqrt(cells)
    ratio = spread * count / deviation
    return deviation**2 * ratio / (1 + ratio)


@pytest.mark.parametrize("at", SPREADS, ids=str)
@pytest.mark.parametrize("count", [0.0, 3.0, 70.0, 1e6])
def test_at_known_sizes_it_is_the_formula(at: Spread, count: float) -> None:
    cells = at.side**2 * at.slices
    expected = by_hand(5.0, cells, at.spread, count)
    assert ERRORS.deviation(cells, at.slices, count, 0.0) ** 2 == pytest.approx(expected)


def test_between_sizes_and_numbers_of_slices_lie_their_geometric_means() -> None:
    middle_side = ERRORS.deviation(4, 1, 70.0, 0.0) ** 2  # 2 x 2 cells: halfway between 1 and 4 in logarithms
    assert middle_side == pytest.approx(by_hand(5.0, 4, 0.02, 70.0))
    middle_slices = ERRORS.deviation(16 * 3, 3, 70.0, 0.0) ** 2  # 3 slices: halfway between 1 and 9
    assert middle_slices == pytest.approx(by_hand(5.0, 16 * 3, math.sqrt(0.04 * 0.4), 70.0))
    both = ERRORS.deviation(4 * 3, 3, 70.0, 0.0) ** 2
    assert both == pytest.approx(by_hand(5.0, 4 * 3, math.sqrt(0.02 * 0.2), 70.0))


def test_beyond_the_known_sizes_the_nearest_one_holds() -> None:
    assert ERRORS.deviation(100**2, 1, 70.0, 0.0) ** 2 == pytest.approx(by_hand(5.0, 100**2, 0.04, 70.0))
    assert ERRORS.deviation(20, 20, 70.0, 0.0) ** 2 == pytest.approx(by_hand(5.0, 20, 0.1, 70.0))
    part = ERRORS.deviation(0.25, 0.5, 2.0, 0.0) ** 2  # of a cell, for half a slice
    assert part == pytest.approx(by_hand(5.0, 0.25, 0.01, 2.0))


def test_a_release_of_one_slice_knows_one_number_of_slices() -> None:
    single = SumErrors(5.0, SPREADS[:2])
    assert single.deviation(4, 1, 70.0, 0.0) ** 2 == pytest.approx(by_hand(5.0, 4, 0.02, 70.0))


def test_never_less_than_the_cells_own_variances_and_without_them_never_more_than_the_noise() -> None:
    cells, slices, counts = np.full(3, 16.0), np.ones(3), np.array([0.0, 70.0, 1e9])
    without = ERRORS.variance(cells, slices, counts, np.zeros(3))
    assert (without <= 16 * 25).all()
    assert without[-1] == pytest.approx(16 * 25, rel=1e-4)  # what stands out is known as well as by its noisy counts
    own = np.array([1.0, 1.0, 900.0])
    np.testing.assert_array_equal(ERRORS.variance(cells, slices, counts, own), np.maximum(own, without))
    assert ERRORS.deviation(16, 1, -30.0, 4.0) == 2  # a count below zero


def test_sums_that_are_scaled_are_off_by_as_much_more() -> None:
    scaled = ERRORS.scaled(3.0)
    for count in (1.0, 70.0, 1e4):
        once, thrice = ERRORS.deviation(8, 2, count, 2.0), scaled.deviation(8, 2, 3 * count, 9 * 2.0)
        assert thrice == pytest.approx(3 * once)


def test_pings_missed_in_clumps_widen_sums_by_one_clump_more_than_chance() -> None:
    bounded = ERRORS.bounded(5, kept=1000, total=10_000, users="people")
    assert bounded.noise_deviation == ERRORS.noise_deviation
    for side, slices in ((1, 9), (4, 9), (1, 1), (4, 1)):
        clump = missing_together(5, 1000, 10_000, "people", side) * (slices / 9) ** 0.8
        for count in (0.0, 70.0, 1e5):
            before, after = (of.deviation(side**2 * slices, slices, count, 0.0) ** 2 for of in (ERRORS, bounded))
            at_a_ping = clump**2 * count / (count + clump / 50)
            assert after - before == pytest.approx(clump * count + at_a_ping, rel=1e-6)
    assert bounded.clump_of_cell == pytest.approx(missing_together(5, 1000, 10_000, "people", 1) * (1 / 9) ** 0.8)
    assert bounded.scaled(2.0).clump_of_cell == pytest.approx(2 * bounded.clump_of_cell)
    assert bounded.deviation(1, 1, -5.0, 4.0) == 2


def test_clumps_are_in_the_cells_variances_already() -> None:
    bounded = ERRORS.bounded(5, kept=1000, total=10_000, users="people")
    of_cell = bounded.deviation(1, 1, 7.0, 0.0) ** 2
    assert bounded.deviation(1, 1, 7.0, of_cell) ** 2 == pytest.approx(of_cell)
    assert bounded.deviation(1, 1, 7.0, 2 * of_cell) ** 2 == pytest.approx(2 * of_cell)


@pytest.mark.parametrize("users", ["people", "vehicles"])
def test_what_bounding_misses_together(users: Users) -> None:
    assert missing_together(50, kept=1000, total=1000, users=users, side=1) == 0
    assert missing_together(50, kept=1200, total=1000, users=users, side=1) == 0  # n is known through noise only
    # k (N / n - 1) (1 - n / N): 50 x 2 x 2 / 3 and 50 x 1 x 1 / 2
    third, half = (missing_together(50, 1000, total, users, 4) for total in (3000, 2000))
    assert third / half == pytest.approx((100 * 2 / 3) / (50 / 2))
    assert missing_together(50, kept=0.0, total=3000, users=users, side=64) == 3000  # nobody misses more than there is
    sizes = [missing_together(50, 1000, 2000, users, side) for side in (1, 2, 4, 16, 64, 300)]
    assert sizes == sorted(sizes)
    assert sizes[-1] == sizes[-2]


def test_vehicles_are_missed_in_smaller_clumps() -> None:
    people, vehicles = (missing_together(50, 1000, 2000, users, 4) for users in ("people", "vehicles"))
    assert vehicles < people / 5


def test_the_whole_is_as_right_as_n_and_a_part_shares_the_error_of_the_scaling() -> None:
    scaled = replace(ERRORS, sum_deviation=60.0, total=Total(1000.0))
    plain = ERRORS.deviation(16, 1, 250.0, 0.0) ** 2
    by_hand = 0.75**2 * plain + 0.25**2 * (60**2 - plain)
    assert scaled.deviation(16, 1, 250.0, 0.0) ** 2 == pytest.approx(by_hand)
    whole = replace(ERRORS, sum_deviation=ERRORS.deviation(400, 9, 1000.0, 0.0), total=Total(1000.0))
    assert whole.deviation(400, 9, 1000.0, 0.0) == pytest.approx(0, abs=1e-5)
    estimated = replace(whole, total=Total(1000.0, deviation=30.0))
    assert estimated.deviation(400, 9, 1000.0, 0.0) == pytest.approx(30)


def test_scaling_to_a_known_total_makes_sums_err_as_the_formula_says() -> None:
    """By simulation: errors of a part and of the rest are independent, then everything is scaled to sum to N."""
    rng, share, total = np.random.default_rng(3), 0.3, 1000.0
    part, rest = rng.normal(0, 20.0, 100_000), rng.normal(0, 40.0, 100_000)
    scaled = (share * total + part) * total / (total + part + rest)
    errors = replace(SumErrors(20.0, (Spread(1, 1, 1e9),)), sum_deviation=math.hypot(20, 40), total=Total(total))
    assert errors.deviation(1, 1, share * total, 0.0) == pytest.approx(np.std(scaled - share * total), rel=0.02)


def test_without_noise_there_is_no_error() -> None:
    assert SumErrors(0.0, SPREADS).deviation(16, 1, 70.0, 0.0) == 0


def test_it_survives_json() -> None:
    assert SumErrors.from_notes(json.loads(json.dumps(ERRORS.as_notes()))) == ERRORS


def test_by_chance_is_what_the_error_bar_was_before_it_was_widened_and_a_part_of_a_clump() -> None:
    rng = np.random.default_rng(1)
    counts = rng.gamma(0.5, 8.0, (3, 40, 40)).astype(np.float32)
    own, clump = np.sqrt(counts) + 0.1, 20.0
    told = round_deviations(np.sqrt(own**2 + widen_by_clumps(np.float32(clump), counts)))  # as tables have it
    found = deviation_by_chance(told, round_counts(counts), clump)
    expected = np.sqrt(own**2 + CLUMP_BY_CHANCE * clump * counts)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[counts > 0.1], expected[counts > 0.1], rtol=0.4)
    assert np.median(found / expected) == pytest.approx(1, abs=0.01)
    assert np.median(told / found) > 3  # what the error bar allows for is most of it


def test_without_clumps_the_error_bar_is_by_chance() -> None:
    bars = np.array([[[3.0, 0.5]]], dtype=np.float32)
    np.testing.assert_array_equal(deviation_by_chance(bars, np.array([[[9.0, -1.0]]], dtype=np.float32), 0.0), bars)
    below_zero = deviation_by_chance(bars, np.full((1, 1, 2), -1, dtype=np.float32), 20.0)
    np.testing.assert_allclose(below_zero, bars)
