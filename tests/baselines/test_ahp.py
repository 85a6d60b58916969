"""AHP: alike values form clusters, different ones do not."""

import numpy as np

from tests.baselines.city import account, error
from vdr_spark.baselines.ahp import Ahp, cluster_values
from vdr_spark.baselines.identity import Identity


def table(cells_by_value: dict[int, int]) -> np.ndarray:
    cells = np.zeros(max(cells_by_value) + 1, dtype=np.int64)
    cells[list(cells_by_value)] = list(cells_by_value.values())
    return cells


def test_values_of_two_heaps_form_two_clusters() -> None:
    values = {0: 50, 1: 3, 2: 2, 98: 2, 100: 3, 101: 1}
    clusters = cluster_values(table(values), epsilon=0.2)
    assert len({clusters[value] for value in (98, 100, 101)}) == 1
    assert len({clusters[value] for value in (1, 2)}) == 1
    assert clusters[100] != clusters[2]


def test_with_much_epsilon_every_value_is_its_own_and_with_little_all_are_one() -> None:
    values = table({0: 5, 3: 5, 7: 5, 20: 5})
    assert len(set(cluster_values(values, 100.0)[[0, 3, 7, 20]])) == 4
    assert len(set(cluster_values(values, 0.001)[[0, 3, 7, 20]])) == 1


def test_a_value_joins_where_the_expected_error_gets_smaller() -> None:
    """One cell of 0, one of v: v^2 / 2 + 1 / epsilon^2 together, 4 / epsilon^2 apart, equal at v^2 = 6 / epsilon^2."""
    assert len(set(cluster_values(table({0: 1, 24: 1}), 0.1)[[0, 24]])) == 1
    assert len(set(cluster_values(table({0: 1, 25: 1}), 0.1)[[0, 25]])) == 2


def test_levels_come_out_much_better_than_noisy_cells() -> None:
    counts = np.zeros((2, 40, 40))
    counts[:, 5:15, 5:15], counts[:, 20:35, 20:35] = 400, 1000
    ours = np.mean([error(Ahp()(counts, account(0.2, seed)), counts) for seed in range(3)])
    assert ours < 0.6 * error(Identity()(counts, account(0.2)), counts)


def test_small_looks_are_taken_for_empty_cells() -> None:
    """Noise exceeds eta log(cells) / epsilon_1 in less than 4 % of 1600 cells; half of it is above 0."""
    result = Ahp()(np.zeros((1, 40, 40)), account(1.0))
    most = np.unique(result, return_counts=True)[1].max()
    assert 0.9 * result.size < most < result.size
