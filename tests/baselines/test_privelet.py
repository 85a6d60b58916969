"""Privelet: exact transforms, the sensitivity it charges for, and its polylogarithmic variance."""

import numpy as np
import pytest

from tests.baselines.city import draws
from vdr_spark.baselines.privelet import Privelet, invert, sensitivity, transform


@pytest.mark.parametrize("side", [1, 2, 8, 64])
def test_the_transform_is_undone_exactly(side: int) -> None:
    values = np.random.default_rng(0).poisson(5.0, (3, side)).astype(float)
    assert np.array_equal(invert(transform(values)), values)


def test_coefficients_are_the_total_and_differences_of_halves() -> None:
    assert transform(np.array([1.0, 2.0, 4.0, 8.0])).tolist() == [15.0, -9.0, -1.0, -4.0]


@pytest.mark.parametrize("side", [2, 16, 128])
def test_a_ping_changes_the_coefficients_by_the_sensitivity(side: int) -> None:
    changes = np.abs(transform(np.eye(side))).sum(axis=-1)
    assert set(changes) == {sensitivity(side)} == {1 + np.log2(side)}


def test_in_two_dimensions_by_its_square() -> None:
    ping = np.zeros((8, 8))
    ping[3, 6] = 1
    assert np.abs(transform(transform(ping).T)).sum() == sensitivity(8) ** 2


@pytest.mark.parametrize("side", [16, 64])
def test_no_range_has_more_variance_than_the_papers_bound(side: int) -> None:
    """Per side (2 + log2 m) / 2 times the noise of a coefficient (lemma 3), whose lambda is rho^2 / epsilon here."""
    noise = draws(Privelet(), np.zeros((1, side, side)), 1.0, 100)[:, 0]
    bound = 2 * sensitivity(side) ** 4 * ((2 + np.log2(side)) / 2) ** 2
    for span in (1, side // 4, side // 2 + 1, side - 1, side):
        for begin in {0, side - span}:
            answers = noise[:, begin : begin + span, :span].sum(axis=(1, 2))
            assert np.mean(answers**2) < 1.5 * bound


def test_large_ranges_cost_less_than_those_of_noisy_cells() -> None:
    noise = draws(Privelet(), np.zeros((1, 256, 256)), 1.0, 60)[:, 0]
    assert np.mean(noise[:, :240, :240].sum(axis=(1, 2)) ** 2) < 0.5 * 2 * 240**2
