"""MWEM: queries are answered right, and rounds make the distribution better."""

import numpy as np
import pytest

from tests.baselines.city import account, city, error
from vdr_spark.baselines.mwem import Mwem, answer, box_slices, random_boxes


def test_answers_are_the_sums_over_boxes_of_all_sizes() -> None:
    tensor = np.random.default_rng(0).poisson(3.0, (5, 9, 9))
    boxes = random_boxes(tensor.shape, 300, np.random.default_rng(1))
    np.testing.assert_allclose(answer(tensor, boxes), [tensor[box_slices(box)].sum() for box in boxes])
    sides = boxes[:, :, 1] - boxes[:, :, 0]
    assert sides.min() == 1
    assert (sides.max(axis=0) == tensor.shape).all()
    assert boxes.min() >= 0


def test_rounds_make_it_better() -> None:
    counts = city(2, 16, pings=50_000)
    errors = [error(Mwem(rounds=rounds)(counts, account(10.0)), counts) for rounds in (1, 5, 30)]
    assert errors[0] > 1.1 * errors[1] > 1.2 * errors[2]
    even = error(np.full(counts.shape, counts.mean(), dtype=np.float32), counts)
    assert errors[2] < 0.6 * even


def test_it_always_sums_to_the_noisy_total_and_is_positive() -> None:
    counts = city(2, 16)
    result = Mwem()(counts, account(100.0))
    assert result.sum(dtype=np.float64) == pytest.approx(counts.sum(), abs=10)
    assert result.min() > 0


def test_measured_queries_are_answered_well_afterwards() -> None:
    counts = np.zeros((1, 16, 16))
    counts[0, :8, :8] = 100
    result = Mwem(rounds=20)(counts, account(20.0))
    assert result[0, :8, :8].sum() > 0.8 * counts.sum()


def test_a_total_that_came_out_far_too_small_leaves_numbers() -> None:
    """N gets 1 % of epsilon: of few pings it is often 0, and every measurement then lies far above it."""
    counts = np.ones((2, 7, 7))
    for seed in range(20):
        ours = Mwem(queries=200)(counts, account(0.2, seed))
        assert np.isfinite(ours).all()
        assert ours.min() >= 0
