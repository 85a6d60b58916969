"""Sea, suburb and town are told apart by the other slices alone."""

import numpy as np
import pytest

from tests.denoise.laplace import laplace_noise
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.statistics.subsets import LeaveOneOut
from vdr_spark.denoise.statistics.surroundings import Surroundings

VARIANCE = laplace_noise(8.0).variance
SEA, SUBURB, TOWN = (slice(None), slice(0, 60)), (slice(0, 70), slice(170, 256)), (slice(180, 230), slice(180, 230))


def country(slices: int) -> np.ndarray:
    """A quarter of a ping in each cell of the suburbs, three in the town, none in the sea to the west."""
    rate = np.zeros((slices, 256, 256))
    rate[:, :, 150:] = 0.25
    rate[:, *TOWN] = 3
    return np.random.default_rng(0).poisson(rate).astype(np.float32)


def surroundings_of(noisy: np.ndarray) -> Surroundings:
    return Surroundings(noisy, VARIANCE, LeaveOneOut(noisy, np.ones(len(noisy))))


def test_sea_is_empty_suburbs_are_thin_and_the_town_is_busy() -> None:
    """The noise of a single cell is 45 times what a suburb's cell holds."""
    surroundings = surroundings_of(with_noise(country(8)))
    for t in (0, 7):
        classes = surroundings.of(t)
        shares = [np.mean(classes[place] == which) for which, place in enumerate((SEA, SUBURB, TOWN))]
        assert min(shares) > 0.93, shares
        assert (classes[TOWN] > 0).all()


def test_nothing_of_a_slice_is_in_its_own_classes() -> None:
    noisy = with_noise(country(4))
    changed = noisy.copy()
    changed[2, :, :60] += 20  # a flood of people where there is sea
    before, after = surroundings_of(noisy), surroundings_of(changed)
    np.testing.assert_array_equal(after.of(2), before.of(2))
    assert (after.of(1)[SEA] == 2).mean() > 0.9
    assert (before.of(1)[SEA] == 0).mean() > 0.8
    np.testing.assert_array_equal(after.of(2), before.of(2))  # also when asked again, after another slice


def test_a_single_slice_is_judged_by_the_cells_around() -> None:
    noisy = with_noise(country(1))
    changed = noisy.copy()
    changed[0, 100, 30] += 5000
    before, after = (surroundings_of(tensor).of(0) for tensor in (noisy, changed))
    assert after[100, 30] == before[100, 30] == 0  # nothing of itself
    assert after[100, 31] == 2
    assert np.mean(before[TOWN] > 0) > 0.95
    assert np.mean(before[SEA] == 0) > 0.9


@pytest.mark.parametrize("shape", [(1, 2, 2), (3, 4, 4), (2, 9, 9)], ids=str)
@pytest.mark.parametrize(("value", "expected"), [(0.0, 0), (1000.0, 2)])
def test_small_and_constant_tensors(shape: tuple[int, int, int], value: float, expected: int) -> None:
    assert (surroundings_of(np.full(shape, value, np.float32)).of(0) == expected).all()
