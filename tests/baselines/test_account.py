"""What is handed out is counted, and no more than epsilon is."""

import numpy as np
import pytest

from tests.baselines.city import account
from vdr_spark.baselines.account import Account
from vdr_spark.errors import BudgetExceeded, InvalidConfig


def test_questions_in_sequence_add_up() -> None:
    ours = account(1.0)
    ours.measure(np.zeros(3), 0.25)
    ours.choose(np.zeros(3), 0.5, 1.0)
    assert ours.spent == pytest.approx(0.75)
    assert ours.left == pytest.approx(0.25)


def test_of_disjoint_parts_the_dearest_counts() -> None:
    ours = account(1.0)
    ours.charge(0.1)
    ours.in_parallel(lambda price, part: part.charge(price), [0.2, 0.6, 0.3])
    assert ours.spent == pytest.approx(0.7)


def test_parts_of_parts_count_along_the_dearest_way() -> None:
    def halve(depth: int, part: Account) -> None:
        part.charge(0.1 * depth)
        if depth < 3:
            part.in_parallel(halve, [depth + 1, depth + 2])

    ours = account(1.0)
    ours.in_parallel(halve, [1])
    assert ours.spent == pytest.approx(0.1 * (1 + 2 + 4))  # over 2 to 4: dearer than 1 + 2 + 3, or 1 + 3


def test_overspending_is_refused_in_sequence_and_in_parts() -> None:
    ours = account(1.0)
    ours.charge(0.7)
    with pytest.raises(BudgetExceeded, match=r"up to 0\.3 "):
        ours.measure(np.zeros(3), 0.4)
    with pytest.raises(BudgetExceeded):
        ours.in_parallel(lambda price, part: part.charge(price), [0.1, 0.31])
    ours.charge(0.3)
    with pytest.raises(BudgetExceeded):
        ours.charge(0.01)


@pytest.mark.parametrize("price", [0.0, -0.1, float("nan")])
def test_nothing_is_free(price: float) -> None:
    with pytest.raises(BudgetExceeded):
        account(1.0).charge(price)


@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0, 1), (-1, 1), (1, 0), (float("inf"), 1), (1, float("nan"))])
def test_epsilon_and_sensitivity_must_be_positive(epsilon: float, sensitivity: float) -> None:
    with pytest.raises(InvalidConfig, match="must be a positive number"):
        Account.open(epsilon, sensitivity, np.random.default_rng(0))


def test_noise_has_the_variance_of_epsilon_and_sensitivity() -> None:
    noise = Account.open(3.0, 6.0, np.random.default_rng(1)).measure(np.zeros(200_000), 0.25, 1.5)
    assert np.var(noise) == pytest.approx(2 * (1.5 / 0.25) ** 2, rel=0.03)
    assert abs(noise.mean()) < 0.1


def test_choices_have_the_odds_of_the_exponential_mechanism() -> None:
    ours = account(3000.0)
    chosen = [ours.choose(np.array([0.0, 4.0]), 0.5, 2.0) for _ in range(4000)]
    assert np.mean(chosen) == pytest.approx(1 / (1 + np.exp(-0.5 * 4 / (2 * 2))), abs=0.03)
