from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidInput
from vdr_spark.evaluate.workloads import RangeQueries, hotspot_queries, range_queries, summed_area
from vdr_spark.grid import Box, Grid


def grid(cells: int, slices: int, cell_m: float = 30.0) -> Grid:
    box = Box.around(29.76, -95.37, cells * cell_m)
    return Grid(box, cells, datetime(2020, 1, 7, tzinfo=UTC), 10_800, slices)


@pytest.fixture
def truth() -> np.ndarray:
    return np.random.default_rng(0).poisson(2.0, size=(3, 40, 40))


def same(one: RangeQueries, other: RangeQueries) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in vars(one))


def test_the_seed_decides_everything(truth: np.ndarray) -> None:
    assert same(range_queries(truth, grid(40, 3), seed=1), range_queries(truth, grid(40, 3), seed=1))
    assert not same(range_queries(truth, grid(40, 3), seed=1), range_queries(truth, grid(40, 3), seed=2))
    one, again = hotspot_queries(truth, seed=1), hotspot_queries(truth, seed=1)
    assert all(np.array_equal(getattr(one, name), getattr(again, name)) for name in vars(one))


def test_summed_area_sums_every_corner() -> None:
    layer = np.random.default_rng(1).normal(size=(5, 7))
    table = summed_area(layer)
    for y, x in np.ndindex(6, 8):
        assert table[y, x] == pytest.approx(layer[:y, :x].sum())


def test_answers_match_sums_cell_by_cell(truth: np.ndarray) -> None:
    queries = range_queries(truth, grid(40, 3), seed=3, count=300)
    boxes = zip(queries.slices, queries.south, queries.north, queries.west, queries.east, strict=True)
    expected = [truth[t, south:north, west:east].sum() for t, south, north, west, east in boxes]
    np.testing.assert_allclose(queries.answers(truth), expected)
    np.testing.assert_allclose(queries.answers(-0.5 * truth.astype(np.float32)), np.multiply(expected, -0.5))


def test_sides_are_30_to_120_metres_in_whole_cells(truth: np.ndarray) -> None:
    queries = range_queries(truth, grid(40, 3), seed=4)
    inner = (queries.south > 0) & (queries.north < 40)
    heights = np.bincount((queries.north - queries.south)[inner], minlength=6)
    assert heights[0] == 0
    assert heights[5:].sum() == 0
    assert heights[1:5].min() > 300  # all of 1, 2, 3, 4 cells of 30 m
    assert len(queries.slices) == 5000


def test_a_coarse_grid_is_asked_for_single_cells(truth: np.ndarray) -> None:
    queries = range_queries(truth, grid(40, 3, cell_m=500.0), seed=5, count=200)
    assert set(queries.north - queries.south) == set(queries.east - queries.west) == {1}


def test_every_box_lies_in_the_grid_and_holds_a_ping(truth: np.ndarray) -> None:
    sparse = np.zeros_like(truth)
    for corner in ((0, 0, 0), (1, 39, 39), (2, 0, 39)):
        sparse[corner] = 1
    queries = range_queries(sparse, grid(40, 3), seed=6, count=500)
    assert min(queries.south.min(), queries.west.min()) == 0
    assert max(queries.north.max(), queries.east.max()) == 40
    assert queries.answers(sparse).min() == 1


def test_boxes_are_centred_at_pings_in_proportion_to_counts() -> None:
    truth = np.zeros((2, 9, 9))
    truth[0, 4, 4], truth[1, 4, 4], truth[1, 2, 6] = 6, 1, 3
    queries = range_queries(truth, grid(9, 2), seed=7, count=4000)
    middles = np.column_stack((queries.south + queries.north, queries.west + queries.east)) / 2 - 0.5
    at_first = np.abs(middles - (4, 4)).max(axis=1) <= 0.5
    at_other = np.abs(middles - (2, 6)).max(axis=1) <= 0.5
    assert (at_first | at_other).all()
    assert np.mean(queries.slices == 0) == pytest.approx(0.6, abs=0.03)
    assert np.mean(at_other) == pytest.approx(0.3, abs=0.03)
    # Boxes of an even side have no middle cell; on average they must not lean to one side.
    assert middles[at_first].mean(axis=0) == pytest.approx((4, 4), abs=0.03)


@pytest.mark.parametrize("length", [2, 3])
def test_a_question_about_several_slices_is_the_sum_of_them(truth: np.ndarray, length: int) -> None:
    queries = range_queries(truth, grid(40, 3), seed=3, count=300, length=length)
    assert set(queries.slices) == set(range(3 - length + 1))
    boxes = zip(queries.slices, queries.south, queries.north, queries.west, queries.east, strict=True)
    expected = [truth[t : t + length, south:north, west:east].sum() for t, south, north, west, east in boxes]
    np.testing.assert_allclose(queries.answers(truth), expected)


def test_a_question_about_several_slices_holds_its_ping() -> None:
    truth = np.zeros((9, 40, 40))
    truth[4, 3, 3] = 1
    queries = range_queries(truth, grid(40, 9), 9, 500, length=3)
    assert set(queries.slices) == {2, 3, 4}
    assert (queries.answers(truth) == 1).all()


def test_anywhere_is_anywhere() -> None:
    truth = np.zeros((4, 40, 40))
    truth[1, 3, 3] = 1
    at_pings, anywhere = (range_queries(truth, grid(40, 4), 9, 4000, anywhere=of) for of in (False, True))
    assert set(at_pings.slices) == {1}
    assert np.bincount(anywhere.slices, minlength=4).min() > 850
    for low, high in ((anywhere.south, anywhere.north), (anywhere.west, anywhere.east)):
        assert (low < high).all()
        assert np.histogram((low + high) / 2, bins=4, range=(0, 40))[0].min() > 850
    assert (at_pings.answers(truth) == 1).all()
    assert anywhere.answers(truth).sum() < 20


def test_hot_spot_thresholds_are_high_percentiles_of_the_true_slice() -> None:
    truth = np.zeros((2, 50, 50))
    truth[0, :2, 0] = 1  # so few pings that the percentile is zero
    truth[1] = np.arange(2500).reshape(50, 50)
    queries = hotspot_queries(truth, seed=8, count=3000)
    assert set(queries.thresholds[queries.slices == 1]) == {np.percentile(truth[1], 99.9)}
    only = hotspot_queries(truth[:1] // 1, seed=8, count=5)
    assert set(only.thresholds) == {max(np.percentile(truth[0], 99.9), 1.0)}


def test_a_truth_without_pings_is_refused() -> None:
    with pytest.raises(InvalidInput, match="must hold pings"):
        range_queries(np.zeros((1, 4, 4)), grid(4, 1), seed=0)
