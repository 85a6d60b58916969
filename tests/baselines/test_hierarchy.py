"""Constrained inference is least squares: compared with a general solver, and with the sums it has to keep."""

import numpy as np
import pytest

from tests.baselines.city import account
from vdr_spark.baselines.blocks import sum_blocks
from vdr_spark.baselines.hierarchy import Hierarchy, estimate_cells, infer_consistent


@pytest.mark.parametrize(("cells", "branching", "height"), [(576, 2, 10), (16, 4, 2), (17, 4, 3), (5, 5, 1), (1, 2, 0)])
def test_levels_end_at_cells(cells: int, branching: int, height: int) -> None:
    hierarchy = Hierarchy.cut(cells, branching)
    assert hierarchy.height == height
    assert np.array_equal(hierarchy.edges[-1], np.arange(cells + 1))
    for level in range(height):
        assert set(hierarchy.edges[level]) <= set(hierarchy.edges[level + 1])
        children = np.diff(hierarchy.children(level))
        assert children.min() >= 1
        assert children.max() <= branching


@pytest.mark.parametrize("variances", [[1.0, 1.0, 1.0, 1.0], [np.inf, 4.0, 1.0, 2.0], [0.5, np.inf, 3.0, 1.0]])
def test_cells_are_the_weighted_least_squares(variances: list[float]) -> None:
    hierarchy, random = Hierarchy.cut(5, 2), np.random.default_rng(0)
    noisy = [random.normal(size=(len(edges) - 1,) * 2) for edges in hierarchy.edges]
    rows, values = [], []
    for edges, level, variance in zip(hierarchy.edges, noisy, variances, strict=True):
        units = np.eye(25).reshape(25, 5, 5)
        design = np.stack([sum_blocks(unit, edges, edges).ravel() for unit in units], axis=1)
        weight = 1 / np.sqrt(variance)
        rows.append(weight * design)
        values.append(weight * level.ravel())
    expected = np.linalg.lstsq(np.concatenate(rows), np.concatenate(values), rcond=None)[0]
    np.testing.assert_allclose(infer_consistent(hierarchy, noisy, variances).ravel(), expected, atol=1e-9)


def test_what_is_consistent_already_stays() -> None:
    layer = np.random.default_rng(1).poisson(2.0, (9, 9)).astype(float)
    hierarchy = Hierarchy.cut(9, 2)
    result = infer_consistent(hierarchy, hierarchy.sums(layer), [3.0] * (hierarchy.height + 1))
    np.testing.assert_allclose(result, layer, atol=1e-9)


def test_a_tree_costs_the_sum_of_its_levels() -> None:
    ours, hierarchy = account(1.0), Hierarchy.cut(8, 2)
    estimate_cells(hierarchy, np.ones((8, 8)), [0.0, 0.1, 0.2, 0.3], ours)
    assert ours.spent == pytest.approx(0.6)


def test_sums_are_better_than_those_of_noisy_cells() -> None:
    hierarchy, layer = Hierarchy.cut(16, 4), np.zeros((16, 16))
    totals = [estimate_cells(hierarchy, layer, [1 / 3] * 3, account(1.0, seed)).sum() for seed in range(300)]
    assert np.var(totals) < 0.2 * 256 * 2  # the noise of 256 cells at epsilon 1
