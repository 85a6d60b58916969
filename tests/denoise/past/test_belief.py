"""The past is believed where a place stayed what it was, and nowhere near one that opened or closed."""

import numpy as np
import pytest

from tests.denoise.past.towns import NOISE, grid_of, remember, town, usual_past
from tests.denoise.priors.test_temporal import with_noise
from vdr_spark.denoise.past.belief import Belief, believe
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
    assert believed.mean() > 0.65
    assert 0 <= believed.min() <= believed.max() <= 1


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_a_district_that_opened_or_closed_is_not_believed_and_the_rest_is(seed: int) -> None:
    believed = belief_of(*changed_town(8, seed)).of(2)
    for where in (OPENED, CLOSED):
        assert believed[where].mean() < 0.35
    elsewhere = np.ones(believed.shape, bool)
    for rows, columns in (OPENED, CLOSED):
        elsewhere[rows.start - 5 : rows.stop + 5, columns.start - 5 : columns.stop + 5] = False
    assert believed[elsewhere].mean() > 0.6


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


def test_every_slice_has_a_belief_of_its_own(stayed: tuple[np.ndarray, PastEvidence]) -> None:
    noisy, past = stayed
    belief = believe(past, noisy, NOISE)
    np.testing.assert_array_equal(belief[3], belief_of(noisy, past).of(3))
    assert abs(belief[3] - belief[4]).max() > 0


def belief_in_district_that_closed(windows: int, opened: int, more: float) -> float:
    """What is believed of a district that held more in the latest earlier windows, and holds as much as ever now."""
    past = usual_past(windows, GRID)
    for noisy, of in past[-opened:]:
        noisy[:, *OPENED] += np.random.default_rng(of.start.day).poisson(more, noisy[:, *OPENED].shape)
    now = with_noise(town(1, GRID), seed=3)
    return float(believe(remember(now, GRID, past), now, NOISE)[:, *OPENED].mean())


def test_a_district_that_opened_lately_and_closed_again_is_missed() -> None:
    """By the mean of all earlier windows it had hardly opened."""
    assert belief_in_district_that_closed(12, 2, 3) < 0.1


def test_what_looks_as_if_it_had_emptied_is_believed_to_have() -> None:
    """So thin that it would pass for chance, were it not all there was."""
    assert belief_in_district_that_closed(5, 5, 1) < 0.2


def test_one_place_that_drifts_where_others_stay_is_not_believed() -> None:
    truth = 10 + town(1, GRID)
    truth[:, *OPENED] *= 1.5
    now = with_noise(truth, seed=3)
    past = [(noisy + 10, of) for noisy, of in usual_past(5, GRID)]
    assert believe(remember(now, GRID, past), now, NOISE)[:, *OPENED].mean() < 0.65


def drifting(share: float) -> np.ndarray:
    """What is believed of a town whose cells are all so much away from their past, one way or the other."""
    grid = grid_of(0)
    rows, columns = np.mgrid[: grid.cells_per_side, : grid.cells_per_side] // 8
    now = with_noise((10 + town(1, grid)) * (1 + share * (-1.0) ** (rows + columns)).astype(np.float32), seed=3)
    past = [(noisy + 10, of) for noisy, of in usual_past(5, grid)]
    return believe(remember(now, grid, past), now, NOISE)


def test_where_all_places_drift_they_are_believed_still_and_where_they_turn_over_they_are_not() -> None:
    assert drifting(0.3).mean() > 0.8
    assert drifting(0.9).mean() < 0.6
