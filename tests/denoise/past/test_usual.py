"""What is usual at an hour, by the latest windows: the right hours, the right weights, the noise it says."""

from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.past.towns import NOISE, grid_of
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.evidence import EarlierWindow
from vdr_spark.denoise.past.usual import Usual
from vdr_spark.grid import Grid
from vdr_spark.privacy.mechanism import Noise

CELLS = 4


def hours(grid: Grid) -> np.ndarray:
    """Counts that say which hour of the week a slice is; all windows of a week have the same sum."""
    first = round(grid.start.timestamp()) // grid.slice_seconds
    number = (first + np.arange(grid.slices)) % 56
    return np.broadcast_to(number[:, None, None], grid.shape).astype(np.float32)


def usual_of(
    grid: Grid, noisy: np.ndarray, past: list[tuple[np.ndarray, Grid]], noises: list[Noise] | None = None
) -> Usual:
    windows = [
        EarlierWindow(of, noise, its) for (of, its), noise in zip(past, noises or [NOISE] * len(past), strict=True)
    ]
    return Usual.of(windows, noisy, NOISE, grid)


def test_a_slice_is_spoken_for_by_the_same_hour_of_the_day() -> None:
    present = grid_of(0, 56, CELLS)
    shifted = replace(present, start=present.start - timedelta(days=10))  # begins on a Friday
    usual = usual_of(present, hours(present), [(hours(shifted), shifted)])
    assert len(usual.counts) == 8
    by_hour = hours(present)[:, 0, 0].reshape(7, 8).mean(axis=0)
    np.testing.assert_allclose(usual.counts[:, 0, 0], by_hour, rtol=1e-4)


def test_whole_days_are_spoken_for_by_the_same_day_of_the_week() -> None:
    present = grid_of(0, 7, CELLS, hours=24)
    shifted = replace(present, start=present.start - timedelta(days=10))
    day = np.broadcast_to((np.arange(7) - 10)[:, None, None] % 7, present.shape).astype(np.float32)
    usual = usual_of(present, np.ones(present.shape, np.float32) * 3, [(day, shifted)])
    np.testing.assert_allclose(usual.counts[:, 0, 0], np.arange(7), rtol=1e-4)


def test_a_rhythm_of_which_an_hour_was_never_seen_gives_way_to_the_mean_of_all() -> None:
    present = grid_of(0, 8, CELLS, hours=3)
    half = replace(present, start=present.start - timedelta(days=1), slices=4)
    usual = usual_of(present, np.ones(present.shape, np.float32), [(np.ones(half.shape, np.float32), half)])
    assert len(usual.counts) == 1


@pytest.mark.parametrize("hours_of_slice", [168, 672, 5])
def test_slices_that_no_rhythm_is_made_of_leave_the_mean_of_all(hours_of_slice: int) -> None:
    present = grid_of(0, 4, CELLS, hours_of_slice)
    ones = np.ones(present.shape, np.float32)
    assert len(usual_of(present, ones, [(ones, grid_of(-1, 4, CELLS, hours_of_slice))]).counts) == 1


def test_the_noise_that_is_left_is_what_it_says_and_noisier_windows_weigh_less() -> None:
    present, noises = grid_of(0, 8, 60), [NOISE, NOISE, NOISE, laplace_noise(40.0)]  # the last has five times as much
    past = []
    for age, noise in zip((4, 3, 2, 1), noises, strict=True):
        of = np.random.default_rng(age).laplace(0, noise.scale, present.shape).astype(np.float32)
        past.append((of, grid_of(-age, 8, 60)))
    usual = usual_of(present, np.zeros(present.shape, np.float32), past, noises)
    assert usual.counts.var(axis=(1, 2)).mean() == pytest.approx(usual.variance.mean(), rel=0.1)
    assert usual.variance.mean() < NOISE.variance / 1.8  # nearly as if the loud one were not there


@pytest.mark.parametrize(("slices", "windows"), [(8, 3), (56, 1), (56, 3), (12, 2)])
def test_the_noise_of_a_sum_over_slices_counts_what_they_share(slices: int, windows: int) -> None:
    """Seven days of a week are spoken for by the same eight maps: their noise does not average out."""
    present, sums = grid_of(0, slices, 60), []
    past = [
        (
            np.random.default_rng(age).laplace(0, NOISE.scale, present.shape).astype(np.float32),
            grid_of(-age, slices, 60),
        )
        for age in range(windows, 0, -1)
    ]
    usual, weights = usual_of(present, np.zeros(present.shape, np.float32), past), np.linspace(0.5, 1.5, slices)
    sums = np.sum([np.float32(weight) * usual.at(t, 1.0)[0] for t, weight in enumerate(weights)], axis=0)
    assert sums.var() == pytest.approx(usual.noise_of_sum(weights), rel=0.12)


def test_a_window_of_another_level_is_scaled_to_this_one() -> None:
    """As it is where k was another: but only as far as the sums tell."""
    present, before = grid_of(0, 8, 40), grid_of(-1, 8, 40)
    level = {pings: with_noise(np.full(present.shape, pings, np.float32), seed=pings) for pings in (0, 10, 30)}
    assert usual_of(present, level[30], [(level[10], before)]).counts.mean() == pytest.approx(30, rel=0.02)
    assert abs(usual_of(present, level[0], [(with_noise(level[0] * 0, seed=2), before)]).counts.mean()) < 1


def test_windows_of_next_to_nothing_do_not_thin_a_city_that_grew() -> None:
    """Their sums are lost in their noise: so they hold far less than this one, and say little about it."""
    present = grid_of(0, 8, 40)
    past = [
        (with_noise(np.full(present.shape, level, np.float32), seed=age), grid_of(-age, 8, 40))
        for age, level in ((3, 0), (2, 0), (1, 20))
    ]
    usual = usual_of(present, with_noise(np.full(present.shape, 30, np.float32)), past)
    assert usual.counts.mean() > 25  # two of three windows are empty
