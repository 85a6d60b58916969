"""Means of local_mean_excluding_self hold nothing of the cell itself, at the edges neither."""

import numpy as np
import pytest

from vdr_spark.denoise.statistics.local_mean import (
    local_mean,
    local_mean_excluding_self,
    remaining_variance,
    wide_local_mean,
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


@pytest.mark.parametrize("side", [100, 101, 255])
@pytest.mark.parametrize("width", [0.0, 4.0, 8.0, 16.0, 32.0])
def test_a_wide_mean_is_about_the_plain_one(side: int, width: float) -> None:
    rows, columns = np.mgrid[:side, :side] / side
    image = (10 * rows**2 + 3 * columns).astype(np.float32)
    image[side // 3, side // 2] += side**2
    found, plain = wide_local_mean(image, width), local_mean(image, width)
    assert found.shape == image.shape
    np.testing.assert_allclose(found, plain, atol=0.12 * np.ptp(plain))  # of a spike, by where its block lies
    assert np.mean(abs(found - plain)) < 0.02 * np.ptp(plain)


@pytest.mark.parametrize("side", [1, 2, 5, 16, 33])
def test_a_wide_mean_of_a_small_grid_keeps_even_country_even(side: int) -> None:
    np.testing.assert_allclose(wide_local_mean(np.full((side, side), 7, np.float32), 32.0), 7, rtol=1e-5)
