"""PrivTree: the paper's lambda and delta, and trees that are deep where pings are."""

import math

import numpy as np
import pytest

from tests.baselines.city import account
from vdr_spark.baselines.hierarchy import Hierarchy
from vdr_spark.baselines.privtree import PrivTree, bias, noise_scale


def test_lambda_is_seven_thirds_over_epsilon_whatever_the_depth() -> None:
    assert noise_scale(0.5) == pytest.approx(7 / 3 / 0.5)


def test_counts_decay_by_delta_per_level_down_to_a_floor() -> None:
    scale = 2.0
    delta = scale * math.log(4)
    counts = np.array([0.0, 100.0])
    np.testing.assert_allclose(bias(counts, 0, scale, 0.0), [0.0, 100.0])
    np.testing.assert_allclose(bias(counts, 3, scale, 0.0), [-delta, 100 - 3 * delta])
    np.testing.assert_allclose(bias(counts, 3, scale, 50.0), [50 - delta, 100 - 3 * delta])


def test_an_empty_block_is_cut_with_a_chance_of_one_in_eight() -> None:
    """At the floor noise has to exceed delta = lambda ln 4: 1/2 exp(-ln 4) = 1/8, so that a tree of 4 children ends."""
    hierarchy, empty = Hierarchy.cut(64, 2), np.zeros((64, 64))
    leaves = [PrivTree().grow(hierarchy, empty, account(1.0, seed)) for seed in range(800)]
    cut = [not of[0][0, 0] for of in leaves]
    assert np.mean(cut) == pytest.approx(0.5, abs=0.07)  # the root has no bias yet
    below = [1 - of[1].mean() for of, was_cut in zip(leaves, cut, strict=True) if was_cut]
    assert np.mean(below) == pytest.approx(1 / 8, abs=0.04)


def test_leaves_cover_every_cell_once_and_are_small_where_pings_are() -> None:
    layer = np.zeros((40, 40))
    layer[:10, :10] = 500
    hierarchy = Hierarchy.cut(40, 2)
    leaves = PrivTree().grow(hierarchy, layer, account(1.0))
    covered = np.zeros((40, 40), dtype=int)
    for edges, is_leaf in zip(hierarchy.edges, leaves, strict=True):
        for row, column in np.argwhere(is_leaf):
            covered[edges[row] : edges[row + 1], edges[column] : edges[column + 1]] += 1
    assert (covered == 1).all()
    assert leaves[-1][:10, :10].all()
    assert leaves[-1][20:, 20:].sum() < 40
