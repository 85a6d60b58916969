"""What is remembered of earlier windows: the right hours, the right weights, and never more than a few maps."""

import tracemalloc
from dataclasses import replace
from datetime import timedelta

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.past.towns import NOISE, grid_of
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.memory import Memory
from vdr_spark.grid import Grid

CELLS = 4


def hours(grid: Grid) -> np.ndarray:
    """Counts that say which hour of the week a slice is; all windows of a week have the same sum."""
    first = round(grid.start.timestamp()) // grid.slice_seconds
    number = (first + np.arange(grid.slices)) % 56
    return np.broadcast_to(number[:, None, None], grid.shape).astype(np.float32)


def test_a_slice_is_spoken_for_by_the_same_hour_of_the_week_and_of_the_day() -> None:
    present = grid_of(0, 56, CELLS)
    shifted = replace(present, start=present.start - timedelta(days=10))  # begins on a Friday
    memory = Memory(hours(present), NOISE, present)
    memory.add(hours(shifted), NOISE, shifted)
    week, day, mean = memory.recall()
    for t in range(56):
        assert week.slow.counts[week.slow.phase(t), 0, 0] == pytest.approx(hours(present)[t, 0, 0])
    assert len(day.slow.counts) == 8
    assert len(mean.slow.counts) == 1
    assert mean.slow.counts.mean() == pytest.approx(hours(present).mean(), rel=1e-4)


def test_a_rhythm_of_which_an_hour_was_never_seen_is_left_out() -> None:
    """Days before the window, but none a week before: only the hours of the day speak."""
    present = grid_of(0, 8, CELLS)
    memory = Memory(hours(present), NOISE, present)
    memory.add(hours(grid_of(-1, 8, CELLS)), NOISE, grid_of(-1, 8, CELLS))
    assert [len(of.slow.counts) for of in memory.recall()] == [8, 1]
    memory.add(hours(grid_of(-7, 8, CELLS)), NOISE, grid_of(-7, 8, CELLS))
    assert [len(of.slow.counts) for of in memory.recall()] == [8, 8, 1]


@pytest.mark.parametrize("hours_of_slice", [168, 672, 5])
def test_slices_that_no_rhythm_is_made_of_leave_the_mean_of_all(hours_of_slice: int) -> None:
    present = grid_of(0, 4, CELLS, hours_of_slice)
    memory = Memory(np.ones(present.shape, np.float32), NOISE, present)
    memory.add(np.ones(present.shape, np.float32), NOISE, grid_of(-1, 4, CELLS, hours_of_slice))
    assert [len(of.slow.counts) for of in memory.recall()] == [1]


def test_the_noise_that_is_left_is_what_it_says_and_noisier_windows_weigh_less() -> None:
    present, louder = grid_of(0, 8, 60), laplace_noise(40.0)
    memory = Memory(np.zeros(present.shape, np.float32), NOISE, present)
    for age in range(1, 5):
        noise = louder if age == 1 else NOISE
        noisy = noise.mechanism  # one of four windows has five times the noise
        of = np.random.default_rng(age).laplace(0, noise.scale, present.shape).astype(np.float32)
        assert noisy.variance == noise.variance
        memory.add(of, noise, grid_of(-age, 8, 60))
    for rhythm in memory.recall():
        for recalled in (rhythm.slow, rhythm.fast):
            measured = recalled.counts.var(axis=(1, 2)).mean()
            assert measured == pytest.approx(recalled.variance.mean(), rel=0.1)
    slow, fast = (of.variance.mean() for of in (memory.recall()[0].slow, memory.recall()[0].fast))
    assert slow < NOISE.variance / 2.7  # nearly as if the loud one were not there
    assert slow < fast


def test_a_window_of_another_level_is_scaled_to_this_one() -> None:
    """As it is where k was another: but only as far as the sums tell."""
    present = grid_of(0, 8, 40)
    memory = Memory(with_noise(np.full(present.shape, 30, np.float32)), NOISE, present)
    memory.add(with_noise(np.full(present.shape, 10, np.float32), seed=2), NOISE, grid_of(-1, 8, 40))
    assert memory.recall()[-1].slow.counts.mean() == pytest.approx(30, rel=0.02)
    quiet = Memory(with_noise(np.zeros(present.shape, np.float32)), NOISE, present)
    quiet.add(with_noise(np.zeros(present.shape, np.float32), seed=2), NOISE, grid_of(-1, 8, 40))
    assert abs(quiet.recall()[-1].slow.counts.mean()) < 1


def test_windows_of_next_to_nothing_do_not_thin_a_city_that_grew() -> None:
    """Their sums are lost in their noise: so they hold far less than this one, and say little about it."""
    present = grid_of(0, 8, 40)
    memory = Memory(with_noise(np.full(present.shape, 30, np.float32)), NOISE, present)
    for age, level in ((3, 0), (2, 0), (1, 20)):
        memory.add(with_noise(np.full(present.shape, level, np.float32), seed=age), NOISE, grid_of(-age, 8, 40))
    assert memory.recall()[-1].slow.counts.mean() > 25  # two of three windows are empty


def test_memory_does_not_grow_with_the_number_of_windows() -> None:
    present = grid_of(0, 8, 64)
    peaks = []
    for windows in (2, 30):
        tracemalloc.start()
        memory = Memory(np.zeros(present.shape, np.float32), NOISE, present)
        for age in range(windows, 0, -1):
            memory.add(np.ones(present.shape, np.float32), NOISE, grid_of(-age, 8, 64))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.02 * peaks[0]
    assert peaks[1] < 8 * present.size * 4  # week and day, slow and fast, the one that is added, and little more
