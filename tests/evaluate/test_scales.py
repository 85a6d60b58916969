"""Sums at every scale: nothing is wrong with the truth, and ten percent too much is ten percent."""

import numpy as np
import pytest

from tests.evaluate.test_workloads import grid
from vdr_spark.evaluate.scales import Scale, compare_scales, measure_coverage
from vdr_spark.evaluate.workloads import RangeQueries

SIDE, SLICES = 128, 3
GRID = grid(SIDE, SLICES)


@pytest.fixture(scope="module")
def truth() -> np.ndarray:
    return np.random.default_rng(0).poisson(20.0, (SLICES, SIDE, SIDE))


def test_names_say_sides_slices_and_place() -> None:
    assert Scale((8, 32), slices=1, anywhere=False).name == "8-32 one"
    assert Scale((16, 16), slices=8, anywhere=False).name == "16 8"
    assert Scale((4, 4), slices=None, anywhere=True).name == "4 all anywhere"


def test_the_truth_is_right_at_every_scale(truth: np.ndarray) -> None:
    found = compare_scales(truth, truth, GRID)
    sides, kinds = ("1-4", "8-32", "64-256"), ("one", "all", "one anywhere", "all anywhere")
    assert set(found) == {"sum"} | {f"{side} {kind}" for side in sides for kind in kinds}
    assert found.pop("sum") == 1
    assert set(found.values()) == {0}


def test_a_tenth_too_much_is_an_error_of_a_tenth_where_there_is_something_to_divide_by(truth: np.ndarray) -> None:
    found = compare_scales(truth, 1.1 * truth, GRID)
    assert found["sum"] == pytest.approx(1.1)
    for kind in ("one", "all", "one anywhere", "all anywhere"):
        assert found[f"8-32 {kind}"] == pytest.approx(0.1)  # 64 cells of 16384 hold more than 0.1 % of a slice
        assert found[f"64-256 {kind}"] == pytest.approx(0.1)
        assert 0.01 < found[f"1-4 {kind}"] < 0.07  # at most 16 of them less


def test_what_is_alike_shows_in_large_sums_and_what_is_not_in_small_ones(truth: np.ndarray) -> None:
    noisy = truth + np.random.default_rng(1).normal(0, 10, truth.shape)
    independent, alike = compare_scales(truth, noisy, GRID), compare_scales(truth, 1.05 * truth, GRID)
    assert independent["1-4 one"] > alike["1-4 one"]
    assert independent["64-256 all"] < 0.1 * alike["64-256 all"]


def test_where_nobody_is_is_asked_about_too(truth: np.ndarray) -> None:
    """Pings put into an empty half are seen by questions anywhere, and not by those at pings."""
    town = truth * (np.arange(SIDE) < SIDE // 2)
    found = compare_scales(town, town + 5.0 * (np.arange(SIDE) >= SIDE // 2 + 40), GRID)
    assert found["8-32 all"] == 0
    assert found["8-32 all anywhere"] > 0.2


def test_a_small_grid_is_asked_what_fits_into_it() -> None:
    small = np.ones((2, 10, 10))
    names = set(compare_scales(small, small, grid(10, 2)))
    assert names == {"sum", "1-4 one", "1-4 all", "1-4 one anywhere", "1-4 all anywhere"}


def bars(per_cell: float, queries: RangeQueries) -> np.ndarray:
    """Deviations of sums whose cells are independently off by so much."""
    area = (queries.north - queries.south) * (queries.east - queries.west)
    return per_cell * np.sqrt(area * queries.length)


def test_error_bars_that_are_right_cover_what_they_should(truth: np.ndarray) -> None:
    estimate = truth + np.random.default_rng(2).normal(0, 3, truth.shape)
    found = measure_coverage(truth, estimate, lambda queries: bars(3.0, queries), GRID)
    sides, kinds = (1, 4, 16, 64), ("one", "all", "one anywhere", "all anywhere")
    assert set(found) == {f"{side} {kind}" for side in sides for kind in kinds}
    for side, kind in ((1, "one"), (1, "all"), (4, "one"), (4, "one anywhere"), (1, "all anywhere")):
        once, ninety, twice = found[f"{side} {kind}"]
        assert once == pytest.approx(0.68, abs=0.06)
        assert ninety == pytest.approx(0.9, abs=0.04)
        assert twice == pytest.approx(0.954, abs=0.03)
    too_small = measure_coverage(truth, estimate, lambda queries: bars(1.0, queries), GRID)
    assert too_small["1 one"][0] < 0.35


def test_error_bars_that_are_exact_cover_everything(truth: np.ndarray) -> None:
    estimate = 1.1 * truth
    exact = {
        share: measure_coverage(
            truth, estimate, lambda queries, share=share: share * 0.1 * queries.answers(truth), GRID
        )
        for share in (1.001, 0.61, 0.51, 0.49)
    }
    assert set(exact[1.001].values()) == {(1.0, 1.0, 1.0)}
    assert set(exact[0.61].values()) == {(0.0, 1.0, 1.0)}
    assert set(exact[0.51].values()) == {(0.0, 0.0, 1.0)}
    assert set(exact[0.49].values()) == {(0.0, 0.0, 0.0)}


def test_with_more_than_eight_slices_a_few_of_them_are_asked_about_too() -> None:
    truth = np.ones((9, 10, 10))
    found = measure_coverage(truth, truth, lambda queries: np.zeros(len(queries.south)), grid(10, 9))
    assert set(found) == {
        f"{side} {kind}{where}" for side in (1, 4) for kind in ("one", "8", "all") for where in ("", " anywhere")
    }
