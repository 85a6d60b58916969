"""QuadTree: Cormode's geometric budget, and what it is for."""

from itertools import pairwise

import numpy as np
import pytest

from tests.baselines.city import account
from vdr_spark.baselines.hierarchy import Hierarchy, estimate_cells
from vdr_spark.baselines.quadtree import geometric_shares


@pytest.mark.parametrize("height", [0, 1, 6, 10])
def test_shares_are_the_papers_and_sum_to_epsilon(height: int) -> None:
    shares = geometric_shares(height, 0.7)
    cube = 2 ** (1 / 3)
    formula = [0.7 * cube ** (height - i) * (cube - 1) / (cube ** (height + 1) - 1) for i in range(height + 1)]
    np.testing.assert_allclose(shares, formula[::-1])  # the paper counts levels from the leaves
    assert sum(shares) == pytest.approx(0.7)
    assert all(finer > coarser for coarser, finer in pairwise(shares))


def test_the_geometric_budget_answers_ranges_better_than_equal_shares() -> None:
    hierarchy, empty = Hierarchy.cut(32, 2), np.zeros((32, 32))
    equal = [1 / (hierarchy.height + 1)] * (hierarchy.height + 1)

    def variance(shares: list[float]) -> float:
        noise = [estimate_cells(hierarchy, empty, shares, account(1.0, seed)) for seed in range(150)]
        return float(np.mean([layer[3:14, 5:20].sum() ** 2 for layer in noise]))

    assert variance(geometric_shares(hierarchy.height, 1.0)) < 0.9 * variance(equal)
