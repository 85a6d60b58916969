"""HB: its branching minimises the variance of range queries, whose formula is exact."""

from itertools import product

import numpy as np
import pytest

from tests.baselines.city import draws
from vdr_spark.baselines.hb import Hb, choose_branching, mean_blocks, mean_variance
from vdr_spark.baselines.hierarchy import Hierarchy


def count_blocks(hierarchy: Hierarchy, rows: tuple[int, int], columns: tuple[int, int]) -> int:
    """Count the largest measured blocks that make up a query, from the root down."""

    def inside(level: int, row: int, column: int) -> bool:
        edges = hierarchy.edges[level]
        return bool(
            rows[0] <= edges[row]
            and edges[row + 1] <= rows[1]
            and columns[0] <= edges[column]
            and edges[column + 1] <= columns[1]
        )

    def walk(level: int, row: int, column: int) -> int:
        if level and inside(level, row, column):
            return 1
        if level == hierarchy.height:
            return 0
        children = hierarchy.children(level)
        places = product(range(children[row], children[row + 1]), range(children[column], children[column + 1]))
        return sum(walk(level + 1, *place) for place in places)

    return walk(0, 0, 0)


@pytest.mark.parametrize(("cells", "branching"), [(4, 2), (5, 2), (6, 3), (5, 5)])
def test_the_mean_number_of_blocks_is_that_of_all_ranges(cells: int, branching: int) -> None:
    hierarchy = Hierarchy.cut(cells, branching)
    ranges = [(begin, end) for begin in range(cells) for end in range(begin + 1, cells + 1)]
    counted = [count_blocks(hierarchy, rows, columns) for rows in ranges for columns in ranges]
    assert mean_blocks(hierarchy) == pytest.approx(np.mean(counted))


def test_without_a_tree_it_is_the_mean_area() -> None:
    assert mean_variance(10, 10) == pytest.approx(2 * (12 / 3) ** 2)  # a range of n cells has (n + 2) / 3 in the mean


@pytest.mark.parametrize("cells", [16, 64, 150, 576])
def test_no_other_branching_has_a_smaller_variance(cells: int) -> None:
    best = choose_branching(cells)
    assert all(mean_variance(cells, best) <= mean_variance(cells, other) for other in range(2, cells + 1))


def test_small_slices_need_no_tree_and_large_ones_do() -> None:
    assert choose_branching(16) == 16
    assert 2 < choose_branching(576) < 576


def spread_of_ranges(branching: int | None, cells: int) -> float:
    """Return the mean variance of random ranges at epsilon 1, from draws over empty counts."""
    random = np.random.default_rng(5)
    edges = np.sort(np.stack([random.choice(cells + 1, 2, replace=False) for _ in range(600)]), axis=1).reshape(
        -1, 2, 2
    )
    noise = draws(Hb(branching), np.zeros((1, cells, cells)), 1.0, 60)[:, 0]
    answers = [noise[:, south:north, west:east].sum(axis=(1, 2)) for (south, north), (west, east) in edges]
    return float(np.mean(np.square(answers)))


def test_measured_variance_is_the_formulas_or_less_by_consistency() -> None:
    assert spread_of_ranges(20, 20) == pytest.approx(mean_variance(20, 20), rel=0.25)  # no tree: nothing to make agree
    tree = spread_of_ranges(5, 20)
    assert 0.2 * mean_variance(20, 5) < tree < mean_variance(20, 5)


def test_the_chosen_tree_beats_a_binary_one_and_none() -> None:
    chosen = spread_of_ranges(None, 150)
    assert chosen < 0.8 * spread_of_ranges(2, 150)
    assert chosen < 0.8 * spread_of_ranges(150, 150)
