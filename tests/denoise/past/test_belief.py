"""The past is believed where a place stayed what it was, and nowhere near one that opened or closed."""

import numpy as np
import pytest

from tests.denoise.past.towns import NOISE, grid_of, remember, town, usual_past
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.belief import Belief, fall_back
from vdr_spark.denoise.past.evidence import PastEvidence
from vdr_spark.denoise.statistics.activity import estimate_activity
from vdr_spark.denoise.statistics.subsets import LeaveOneOut

GRID = grid_of(0)
OPENED, CLOSED = (slice(70, 86), slice(6, 22)), (slice(36, 50), slice(50, 64))


def belief_of(noisy: np.ndarray, past: PastEvidence) -> Belief:
    return Belief(past, noisy, LeaveOneOut(noisy, estimate_activity(noisy, NOISE.variance)), NOISE.variance)


def changed_town(slices: int, seed: int) -> tuple[np.ndarray, PastEvidence]:
    """The noisy counts of a town where a district opened and another one closed, and its past."""
    grid = grid_of(0, slices)
    truth = town(1, grid)
    truth[:, *OPENED] = 9
    truth[:, *CLOSED] = 0
    noisy = with_noise(truth, seed=seed)
    return noisy, remember(noisy, grid, usual_past(5, grid))


@pytest.fixture(scope="module")
def stayed() -> tuple[np.ndarray, PastEvidence]:
    noisy = with_noise(town(1, GRID), seed=3)
    return noisy, remember(noisy, GRID, usual_past(5, GRID))


def test_a_town_that_stayed_is_believed(stayed: tuple[np.ndarray, PastEvidence]) -> None:
    noisy, past = stayed
    believed = np.stack([belief_of(noisy, past).of(t) for t in range(len(noisy))])
    assert believed.mean() > 0.8
    assert 0 <= believed.min() <= believed.max() <= 1


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_district_that_opened_or_closed_is_not_believed_and_the_rest_is(seed: int) -> None:
    believed = belief_of(*changed_town(8, seed)).of(2)
    for where in (OPENED, CLOSED):
        assert believed[where].mean() < 0.35
    elsewhere = np.ones(believed.shape, bool)
    for rows, columns in (OPENED, CLOSED):
        elsewhere[rows.start - 5 : rows.stop + 5, columns.start - 5 : columns.stop + 5] = False
    assert believed[elsewhere].mean() > 0.75


def test_a_slice_that_is_alone_sees_it_by_the_cells_around() -> None:
    noisy, past = changed_town(1, 3)
    belief = belief_of(noisy, past).of(0)
    assert belief[74:82, 10:18].mean() < belief[40:60, 20:40].mean() - 0.3


@pytest.mark.parametrize("slices", [1, 4])
def test_it_knows_nothing_of_a_cells_own_noise(slices: int) -> None:
    grid = grid_of(0, slices)
    noisy = with_noise(town(1, grid), seed=3)
    past = remember(noisy, grid, usual_past(3, grid))
    activity = estimate_activity(noisy, NOISE.variance)
    changed = noisy.copy()
    changed[0, 40, 50] += 1000
    before, after = (
        Belief(past, of, LeaveOneOut(of, activity), NOISE.variance).of(0)[40, 50] for of in (noisy, changed)
    )
    assert after == pytest.approx(before, abs=1e-5)


def test_where_the_past_is_not_believed_the_prior_is_that_of_the_window_alone(
    stayed: tuple[np.ndarray, PastEvidence],
) -> None:
    noisy, past = changed_town(8, 3)
    alone, knowing = np.zeros_like(noisy), np.ones_like(noisy)
    prior = fall_back(alone, knowing, past, noisy, NOISE)
    np.testing.assert_allclose(prior[3], belief_of(noisy, past).of(3), atol=1e-6)
    assert prior[:, *CLOSED].mean() < 0.1
    assert fall_back(alone, knowing, stayed[1], stayed[0], NOISE).mean() > 0.8
