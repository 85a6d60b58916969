"""DAWA: a curve that stays together, and cuts that find what is even."""

import numpy as np
import pytest

from tests.baselines.city import account, error
from vdr_spark.baselines.dawa import (
    Dawa,
    NoisyDeviations,
    choose_cuts,
    deviation,
    hilbert_order,
    proven_noise,
    published_noise,
)
from vdr_spark.baselines.identity import Identity

BOTH = pytest.mark.parametrize("noise", [published_noise, proven_noise])


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


@BOTH
def test_cuts_recover_levels(noise: NoisyDeviations) -> None:
    values = np.repeat([5.0, 90.0, 40.0], [32, 32, 64])
    begins = choose_cuts(values, 50.0, 50.0, noise, account(100.0))
    assert {0, 32, 64} <= set(begins)
    assert len(begins) < 50  # of 128: what is even is seldom cut


def test_with_the_published_noise_nothing_else_is_cut() -> None:
    values = np.repeat([5.0, 90.0, 40.0], [32, 32, 64])
    assert choose_cuts(values, 50.0, 50.0, published_noise, account(100.0)).tolist() == [0, 32, 64]


@BOTH
def test_cuts_end_with_the_values(noise: NoisyDeviations) -> None:
    begins = choose_cuts(np.r_[np.zeros(64), np.full(9, 1000.0)], 50.0, 50.0, noise, account(100.0))
    assert {0, 64, 72} <= set(begins)
    assert begins.max() == 72


@BOTH
def test_levels_come_out_much_better_than_noisy_cells(noise: NoisyDeviations) -> None:
    counts = np.zeros((2, 32, 32))
    counts[:, :16, :16], counts[:, 16:24, 8:16] = 100, 500
    ours = np.mean([error(Dawa(noise=noise)(counts, account(0.5, seed)), counts) for seed in range(3)])
    assert ours < 0.5 * error(Identity()(counts, account(0.5)), counts)


def share_alone(ping: float, noise: NoisyDeviations) -> float:
    """Return how often the first of 8 cells stays alone, all empty but for a ping there, with epsilon_1 = 0.5.

    Eights are so far apart in level that no cuts join two of them: one long row is a hundred thousand trials.
    """
    eights = np.zeros((1 << 17, 8))
    eights[1::2] = 1e9
    eights[:, 0] += ping
    begins = choose_cuts(eights.ravel(), 0.5, 1.5, noise, account(2.0))
    is_begin = np.zeros(eights.size, dtype=bool)
    is_begin[begins] = True
    return float(is_begin.reshape(-1, 8)[:, :2].all(axis=1).mean())


def test_one_ping_changes_the_published_odds_by_more_than_epsilon_and_the_proven_ones_by_less() -> None:
    published = np.log(share_alone(1, published_noise) / share_alone(0, published_noise))
    proven = np.log(share_alone(1, proven_noise) / share_alone(0, proven_noise))
    assert published > 2 * 0.5
    assert abs(proven) < 0.5
