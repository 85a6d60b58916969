"""PrivBayes: useful tables, the sensitivity of its score, and networks that reproduce what they measured."""

import numpy as np
import pytest

from tests.baselines.city import account, city
from vdr_spark.baselines.privbayes import (
    Pair,
    PrivBayes,
    conditional,
    expand,
    find_pairs,
    score,
    table_of,
)

SHAPE = (6, 16, 16)


def test_parents_are_as_fine_as_useful_tables_allow() -> None:
    pairs = list(find_pairs([1], SHAPE, largest=70))
    assert set(pairs) == {
        Pair(0, (6, 8, 1)),
        Pair(2, (1, 4, 16)),
    }  # 48 and 64 entries; one halving more were 96 and 128
    two_parents = set(find_pairs([0, 1], SHAPE, largest=70))
    assert two_parents == {Pair(2, (1, 4, 16)), Pair(2, (2, 2, 16)), Pair(2, (4, 1, 16))}


def test_without_a_useful_table_there_are_no_parents() -> None:
    assert list(find_pairs([0, 1], SHAPE, largest=3)) == [Pair(2, (1, 1, 16))]


def test_the_score_is_zero_for_independence_and_large_for_dependence() -> None:
    independent = np.outer([1.0, 2.0, 3.0], [4.0, 5.0]).reshape(1, 3, 2)
    assert score(independent, axis=1) == pytest.approx(0.0)
    assert score(np.diag([10.0, 10.0]).reshape(1, 2, 2), axis=1) == pytest.approx(10.0)


def test_a_ping_changes_the_score_by_less_than_it_is_charged_for() -> None:
    random, largest = np.random.default_rng(0), 0.0
    for _ in range(400):
        table = random.poisson(random.choice([0.1, 1.0, 20.0]), (1, *random.integers(2, 9, 2))).astype(float)
        more = table.copy()
        more[0, random.integers(table.shape[1]), random.integers(table.shape[2])] += 1
        largest = max(largest, abs(score(more, 1) - score(table, 1)))
    assert 0.5 < largest <= 2.0


def test_tables_and_their_expansion_fit_the_cells() -> None:
    counts = city(6, 16)
    table = table_of(counts, (1, 4, 16))
    assert table.shape == (1, 4, 16)
    assert table[0, 1, 3] == counts[:, 4:8, 3].sum()
    wide = expand(table, counts.shape)
    assert wide.shape == (1, 16, 16)
    assert wide[0, 5, 3] == table[0, 1, 3]


def test_conditional_distributions_sum_to_one_where_nothing_is_left_too() -> None:
    chances = conditional(np.array([[[3.0, -1.0], [1.0, -2.0]]]), axis=1)
    assert chances[0].tolist() == [[0.75, 0.5], [0.25, 0.5]]


def test_without_noise_the_network_keeps_the_marginals_it_measured() -> None:
    """theta so large that tables of two attributes are useful and those of three are not."""
    counts = city(6, 16, pings=100_000)
    epsilon = 1e4
    theta = counts.sum() * 0.99 * 0.7 * epsilon / (2 * 3 * 300)
    result = PrivBayes(theta=theta)(counts, account(epsilon)).astype(np.float64)
    pairs = [(0, 1), (0, 2), (1, 2)]
    kept = [np.allclose(result.sum(axis=3 - a - b), counts.sum(axis=3 - a - b), rtol=1e-2, atol=2) for a, b in pairs]
    assert sum(kept) == 2  # of three attributes two have parents
    for axis in range(3):
        others = tuple({0, 1, 2} - {axis})
        np.testing.assert_allclose(result.sum(axis=others), counts.sum(axis=others), rtol=1e-2, atol=2)
    assert not np.allclose(result, counts, atol=5)
