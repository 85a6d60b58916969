"""UG: the paper's rule for the size of the grid, and what a grid does to counts."""

import numpy as np
import pytest

from tests.baselines.city import account, city
from vdr_spark.baselines.uniform_grid import UniformGrid, grid_size


@pytest.mark.parametrize(
    ("pings", "epsilon", "size"), [(1_000_000, 1.0, 316), (1_000_000, 0.1, 100), (9000, 0.1, 9), (0, 1.0, 1)]
)
def test_the_grid_has_root_of_n_epsilon_over_ten_blocks_a_side(pings: float, epsilon: float, size: int) -> None:
    assert grid_size(pings, epsilon, 10.0) == size


def test_blocks_are_even_inside_and_as_many_as_the_rule_says() -> None:
    counts = city(1, 40, pings=36_000)
    result = UniformGrid()(counts, account(0.1))[0]
    size = grid_size(counts.sum(), 0.1, 10.0)
    assert size == 19
    assert size - 2 <= len(np.unique(result[0])) <= size + 2  # N is noisy: blocks along the first row of cells
    assert result.sum() == pytest.approx(counts.sum(), abs=6 * np.sqrt(2 * size**2) / 0.1)


def test_better_than_noisy_cells_where_pings_are_few() -> None:
    counts = city(1, 64, pings=2000)
    errors = [np.abs(UniformGrid()(counts, account(0.05, seed)) - counts).mean() for seed in range(5)]
    assert np.mean(errors) < 0.3 / 0.05  # a noisy cell's is 1 / epsilon
