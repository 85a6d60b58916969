"""HTF: cuts fall where counts change, and trees are as high as the paper's rule says."""

import numpy as np
import pytest

from tests.baselines.city import account, error
from vdr_spark.baselines.htf import Htf, candidate_cuts, cut_costs, tree_height
from vdr_spark.baselines.identity import Identity


@pytest.mark.parametrize(
    ("pings", "epsilon", "height"), [(10_240, 1.0, 10), (10_240, 0.1, 6), (5, 1.0, 0), (0, 1.0, 0)]
)
def test_the_tree_has_n_epsilon_over_ten_leaves(pings: float, epsilon: float, height: int) -> None:
    assert tree_height(pings, epsilon, 10.0) == height


@pytest.mark.parametrize(("length", "cuts"), [(2, [1]), (9, [1, 2, 3, 4, 5, 6, 7, 8]), (90, range(10, 90, 10))])
def test_candidates_are_evenly_spaced_and_inside(length: int, cuts: list[int]) -> None:
    assert candidate_cuts(length, 8).tolist() == list(cuts)


def test_the_best_cut_leaves_both_halves_even() -> None:
    block = np.zeros((18, 5))
    block[12:] = 7
    costs = cut_costs(block, candidate_cuts(18, 8))
    assert costs.min() == 0
    assert candidate_cuts(18, 8)[costs.argmin()] == 12
    assert (costs == 0).sum() == 1


def test_a_ping_changes_the_cost_of_a_cut_by_two_at_most() -> None:
    random, largest = np.random.default_rng(0), 0.0
    for _ in range(300):
        block = random.poisson(1.0, (8, 6)).astype(float)
        more = block.copy()
        more[random.integers(8), random.integers(6)] += 1
        cuts = np.arange(1, 8)
        largest = max(largest, np.abs(cut_costs(more, cuts) - cut_costs(block, cuts)).max())
    assert 1 < largest <= 2


def test_levels_come_out_much_better_than_noisy_cells() -> None:
    counts = np.zeros((2, 36, 36))
    counts[:, :12, :20] = 30
    ours = np.mean([error(Htf()(counts, account(0.2, seed)), counts) for seed in range(3)])
    assert ours < 0.7 * error(Identity()(counts, account(0.2)), counts)


def test_homogeneous_cuts_beat_blind_ones() -> None:
    counts = np.zeros((1, 54, 54))
    counts[:, :12, :42] = 60
    chosen = np.mean([error(Htf()(counts, account(2.0, seed)), counts) for seed in range(4)])
    blind = np.mean([error(Htf(candidates=1)(counts, account(2.0, seed)), counts) for seed in range(4)])
    assert chosen < 0.8 * blind
