"""AG: the paper's two sizes, and its weights of the two counts of a block."""

import numpy as np
import pytest

from tests.baselines.city import account
from vdr_spark.baselines.adaptive_grid import AdaptiveGrid, first_size, own_weight, second_size


@pytest.mark.parametrize(
    ("pings", "epsilon", "size"), [(1_000_000, 1.0, 80), (1_000_000, 0.1, 25), (1000, 0.1, 10), (0, 1.0, 10)]
)
def test_the_first_grid_is_a_quarter_of_ugs_and_ten_at_least(pings: float, epsilon: float, size: int) -> None:
    assert first_size(pings, epsilon, 10.0) == size


@pytest.mark.parametrize(("pings", "size"), [(1000, 10), (900, 10), (10, 1), (0, 1), (-50, 1)])
def test_a_block_is_cut_by_its_noisy_count(pings: float, size: int) -> None:
    assert second_size(pings, 0.5, 5.0) == size


def test_the_two_counts_are_weighed_by_their_variances() -> None:
    first, second, parts = 0.3, 0.7, 9
    own, others = 2 / first**2, parts * 2 / second**2
    assert own_weight(first, second, parts) == pytest.approx((1 / own) / (1 / own + 1 / others))


def test_busy_blocks_are_cut_finer_than_empty_ones() -> None:
    counts = np.zeros((1, 40, 40))
    counts[0, 20:, 20:] = np.random.default_rng(0).poisson(50.0, (20, 20))
    result = AdaptiveGrid()(counts, account(1.0))[0]
    assert len(np.unique(result[20:, 20:])) > 350  # of 400 cells
    assert len(np.unique(result[:20, :20])) < 100  # 25 blocks of 16 cells, hardly cut


def test_sums_of_blocks_use_both_counts() -> None:
    """Blocks of 3 x 3 empty cells are hardly ever cut: two counts of the same variance, together half of it."""
    estimates = [AdaptiveGrid()(np.zeros((1, 30, 30)), account(0.2, seed))[0, 9:15, 15:21].sum() for seed in range(200)]
    of_first_alone = 4 * 2 / (0.5 * 0.99 * 0.2) ** 2
    assert 0.35 < np.var(estimates) / of_first_alone < 0.7
    assert abs(np.mean(estimates)) < 5 * np.std(estimates) / np.sqrt(200)
