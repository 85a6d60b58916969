"""DAWA: a curve that stays together, and cuts that find what is even."""

import numpy as np
import pytest

from tests.baselines.city import account, error
from vdr_spark.baselines.dawa import Dawa, choose_cuts, deviation, hilbert_order
from vdr_spark.baselines.identity import Identity


@pytest.mark.parametrize("cells", [1, 2, 8, 32])
def test_the_curve_steps_from_cell_to_adjacent_cell(cells: int) -> None:
    rows, columns = np.divmod(hilbert_order(cells), cells)
    assert sorted(hilbert_order(cells)) == list(range(cells * cells))
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()


def test_on_other_sides_every_cell_comes_once_and_steps_are_short() -> None:
    order = hilbert_order(24)
    rows, columns = np.divmod(order, 24)
    assert sorted(order) == list(range(24 * 24))
    assert np.mean(np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1) > 0.9


def test_aligned_intervals_of_the_curve_are_squares() -> None:
    rows, columns = np.divmod(hilbert_order(16), 16)
    for begin in range(0, 256, 16):
        assert np.ptp(rows[begin : begin + 16]) == np.ptp(columns[begin : begin + 16]) == 3


def test_a_ping_changes_a_cost_by_less_than_two() -> None:
    random = np.random.default_rng(0)
    values = random.poisson(2.0, (500, 8)).astype(float)
    more = values.copy()
    more[:, 0] += 1
    assert 1 < np.abs(deviation(more) - deviation(values)).max() <= 2 - 2 / 8


def test_cuts_recover_levels() -> None:
    values = np.repeat([5.0, 90.0, 90.0, 40.0], [32, 8, 24, 64])
    begins = choose_cuts(values, 50.0, 50.0, account(100.0))
    assert begins.tolist() in ([0, 32, 64], [0, 32, 40, 48, 64])
    assert [values[begin] for begin in begins][:2] == [5.0, 90.0]


def test_cuts_end_with_the_values() -> None:
    begins = choose_cuts(np.r_[np.zeros(64), np.full(9, 1000.0)], 50.0, 50.0, account(100.0))
    assert begins.tolist() == [0, 64, 72]


def test_levels_come_out_much_better_than_noisy_cells() -> None:
    counts = np.zeros((2, 32, 32))
    counts[:, :16, :16], counts[:, 16:24, 8:16] = 100, 500
    ours = np.mean([error(Dawa()(counts, account(0.5, seed)), counts) for seed in range(3)])
    assert ours < 0.5 * error(Identity()(counts, account(0.5)), counts)
