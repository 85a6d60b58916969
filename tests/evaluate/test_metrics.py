import numpy as np
import pytest

from vdr_spark.evaluate.metrics import cell_errors, compare, hotspot_errors, relative_error, smoothing
from vdr_spark.evaluate.workloads import HotspotQueries, RangeQueries


def queries_at(*cells: tuple[int, int, int, float]) -> HotspotQueries:
    slices, rows, columns, thresholds = (np.array(values) for values in zip(*cells, strict=True))
    return HotspotQueries(slices, rows, columns, thresholds.astype(float))


def test_relative_error_by_hand() -> None:
    truth, estimate = np.array([10.0, 0.0, 4.0]), np.array([5.0, 1.0, 4.0])
    # |5 - 10| / 10, |1 - 0| / psi, 0
    assert relative_error(truth, estimate, psi=2.0) == pytest.approx((0.5 + 0.5 + 0) / 3)


def test_smoothing_is_a_thousandth_of_the_mean_slice() -> None:
    truth = np.zeros((2, 3, 3), dtype=np.int32)
    truth[0, 1, 1], truth[1, 0, 0] = 1000, 5000
    assert smoothing(truth) == pytest.approx(3.0)


def test_cell_errors_match_a_brute_force_sum() -> None:
    rng = np.random.default_rng(0)
    truth, estimate = rng.poisson(3, size=(4, 5, 5)), rng.normal(3, 2, size=(4, 5, 5)).astype(np.float32)
    differences = [float(estimate[cell]) - int(truth[cell]) for cell in np.ndindex(truth.shape)]
    mae, rmse = cell_errors(truth, estimate)
    assert mae == pytest.approx(sum(abs(value) for value in differences) / 100)
    assert rmse == pytest.approx((sum(value**2 for value in differences) / 100) ** 0.5)


def test_unsigned_counts_do_not_wrap_around() -> None:
    mae, _ = cell_errors(np.full((1, 1, 1), 5, dtype=np.uint32), np.full((1, 1, 1), 2, dtype=np.uint32))
    assert mae == 3


def test_hot_spot_errors_by_hand() -> None:
    truth, estimate = np.zeros((1, 9, 9)), np.zeros((1, 9, 9))
    truth[0, 0, 5] = 20  # five cells east of the query: the true hot spot
    truth[0, 3, 0] = 12
    estimate[0, 3, 0] = 16  # three cells north, named by the estimate
    distance, regret = hotspot_errors(truth, estimate, queries_at((0, 0, 0, 15.0)))
    assert distance == pytest.approx(2)
    assert regret == pytest.approx(3)  # 15 asked for, 12 there


def test_an_estimate_without_hot_spots_is_judged_by_its_largest_cell() -> None:
    truth, estimate = np.zeros((1, 9, 9)), np.zeros((1, 9, 9))
    truth[0, 0, 0], estimate[0, 0, 4], estimate[0, 0, 1] = 20, 10, 9
    distance, regret = hotspot_errors(truth, estimate, queries_at((0, 0, 0, 15.0)))
    assert (distance, regret) == (4, 15)


def test_hot_spot_distance_matches_a_brute_force_search() -> None:
    rng = np.random.default_rng(2)
    truth, estimate = rng.poisson(3, size=(2, 2, 12, 12)).astype(float)
    cells = [(int(rng.integers(2)), *(int(v) for v in rng.integers(12, size=2)), 6.0) for _ in range(60)]
    errors = []
    for t, y, x, threshold in cells:
        far = [
            min(np.hypot(a - y, b - x) for a, b in np.ndindex(12, 12) if tensor[t, a, b] >= threshold)
            for tensor in (truth, estimate)
        ]
        errors.append(abs(far[0] - far[1]))
    distance, _ = hotspot_errors(truth, estimate, queries_at(*cells))
    assert distance == pytest.approx(np.mean(errors))


def test_compare_is_zero_for_the_truth_and_gathers_every_error() -> None:
    truth = np.random.default_rng(3).poisson(5, size=(2, 8, 8))
    ranges = RangeQueries(*(np.array(values) for values in ([0, 1], [0, 2], [3, 8], [1, 1], [2, 4])))
    hotspots = queries_at((0, 1, 1, 8.0), (1, 5, 5, 8.0))
    assert set(compare(truth, truth, ranges, hotspots).as_dict().values()) == {0.0}
    double = compare(truth, 2.0 * truth, ranges, hotspots)
    assert double.relative_error == pytest.approx(1.0)
    assert double.mae == pytest.approx(truth.mean())
    assert double.rmse == pytest.approx(np.sqrt((truth**2).mean()))
