"""Means of local_mean_excluding_self hold nothing of the cell itself, at the edges neither."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from vdr_spark.denoise.statistics.local_mean import (
    local_mean,
    local_mean_excluding_self,
    remaining_variance,
    variance_of_wide_mean,
    wide_local_mean,
    wide_local_mean_excluding_self,
)


@pytest.mark.parametrize("width", [0.6, 1.0, 4.0, 12.0])
@pytest.mark.parametrize("cell", [(0, 0), (0, 7), (9, 9), (19, 19), (19, 4)])
def test_blind_to_the_cell_itself(width: float, cell: tuple[int, int]) -> None:
    image = np.random.default_rng(0).normal(size=(20, 20)).astype(np.float32)
    changed = image.copy()
    changed[cell] += 1000
    before, after = local_mean_excluding_self(image, width), local_mean_excluding_self(changed, width)
    assert after[cell] == pytest.approx(before[cell], abs=2e-3)
    assert abs(after - before).max() > 1


def test_even_country_stays_even() -> None:
    even = np.full((20, 20), 7, np.float32)
    np.testing.assert_allclose(local_mean_excluding_self(even, 3.0), 7, rtol=1e-5)
    np.testing.assert_allclose(local_mean(even, 3.0), 7, rtol=1e-5)
    assert local_mean(even, 0) is even


@pytest.mark.parametrize("width", [0.0, 1.0, 4.0])
def test_noise_left_is_the_variance_of_the_mean(width: float) -> None:
    noise = np.random.default_rng(1).normal(size=(600, 600)).astype(np.float32)
    assert local_mean(noise, width).var() == pytest.approx(remaining_variance(width), rel=0.15)
    if width:
        assert local_mean_excluding_self(noise, width).var() == pytest.approx(
            remaining_variance(width, with_self=False), rel=0.15
        )


@pytest.mark.parametrize("width", [0.0, 4.0, 8.0, 16.0, 32.0])
def test_a_wide_mean_is_that_of_a_mirrored_image(width: float) -> None:
    image = np.random.default_rng(1).normal(size=(101, 60)).astype(np.float32)
    plain = gaussian_filter(image, width, mode="reflect") if width else image
    np.testing.assert_allclose(wide_local_mean(image, width), plain, atol=1e-5)


@pytest.mark.parametrize("with_self", [True, False])
def test_the_noise_of_a_wide_mean_is_known_at_the_edges_too(with_self: bool) -> None:
    noise = np.random.default_rng(2).normal(size=(4000, 12, 12)).astype(np.float32)
    mean_of = wide_local_mean if with_self else wide_local_mean_excluding_self
    found = np.var([mean_of(image, 2.0) for image in noise], axis=0)
    np.testing.assert_allclose(found, variance_of_wide_mean((12, 12), 2.0, with_self), rtol=0.15)


def test_a_wide_mean_without_the_cell_does_not_see_it() -> None:
    image = np.random.default_rng(3).normal(size=(9, 9)).astype(np.float32)
    changed = image.copy()
    changed[0, 4] += 100
    moved = abs(wide_local_mean_excluding_self(changed, 3.0) - wide_local_mean_excluding_self(image, 3.0))
    assert moved[0, 4] < 1e-3
    assert moved[0, 5] > 1


@pytest.mark.parametrize("side", [1, 2, 5, 16, 33])
def test_a_wide_mean_of_a_small_grid_keeps_even_country_even(side: int) -> None:
    np.testing.assert_allclose(wide_local_mean(np.full((side, side), 7, np.float32), 32.0), 7, rtol=1e-5)
