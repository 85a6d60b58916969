from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.evaluate import paper
from vdr_spark.evaluate.paper import (
    HotspotWorkload,
    forecast_error,
    hotspot_errors_by_density,
    range_errors,
    smape,
)
from vdr_spark.grid import Box, Grid
from vdr_spark.query.nearest import NearestCells
from vdr_spark.query.ruler import Ruler

RULER = Ruler(1000.0, 1000.0)  # so that 5 km reach five cells


def grid(cells: int, slices: int, cell_m: float = 30.0) -> Grid:
    return Grid(Box.around(29.76, -95.37, cells * cell_m), cells, datetime(2020, 1, 7, tzinfo=UTC), 10_800, slices)


def answers(*cells: tuple[int, int, int] | None, distances: list[float]) -> NearestCells:
    return NearestCells(np.array([cell or (-1, -1, -1) for cell in cells]), np.array(distances))


def test_scores_by_hand() -> None:
    truth = np.zeros((4, 20, 20))
    truth[0, 0, 3], truth[1, 0, 1] = 25, 12
    true = answers((0, 0, 3), (0, 0, 3), None, None, (0, 0, 3), distances=[3, 3, np.inf, np.inf, 1])
    found = answers((1, 0, 1), None, (1, 0, 1), None, (0, 0, 3), distances=[1.5, np.inf, 2, np.inf, 1])
    errors = HotspotWorkload(truth, 20, np.zeros((5, 3), dtype=np.int64), RULER, true).score(found)
    reach = np.hypot(5, 3)
    # a false one nearer; one missed; one where there is none; neither; the right one
    assert errors.distance == pytest.approx((1.5 + (reach - 3) + (reach - 2) + 0 + 0) / 5)
    assert errors.regret == pytest.approx((8 + 20 + 8 + 0 + 0) / 5)
    assert (errors.missed, errors.false) == (1, 1)


def test_the_truth_makes_no_error_and_is_asked_at_pings() -> None:
    rng = np.random.default_rng(1)
    truth = rng.poisson(rng.gamma(0.1, 40, size=(6, 30, 30))).astype(np.float32)
    workload = HotspotWorkload.of(truth, grid(30, 6), 20)
    assert (truth[tuple(workload.places.T)] > 0).all()
    assert len(workload.places) == 1000
    errors = workload.by_threshold(truth)
    assert (errors.distance, errors.regret, errors.missed, errors.false) == (0, 0, 0, 0)


def test_probabilities_find_what_a_threshold_on_shrunken_counts_passes_by() -> None:
    rng = np.random.default_rng(2)
    mean, spread = rng.gamma(2.0, 5.0, size=(4, 30, 30)), 1.2
    truth = np.round(rng.gamma(1 / spread**2, mean * spread**2)).astype(np.float32)
    released = mean.astype(np.float32)  # all that such a release knows
    ways = hotspot_errors_by_density(truth, grid(30, 4), truth, released, released * np.float32(spread))["40"]
    assert ways["noisy_scaled"].distance == 0  # the truth itself was given for it
    assert ways["by_probability"].distance < ways["refined"].distance / 2


def test_without_error_bars_nothing_is_said_by_probability() -> None:
    truth = np.full((2, 10, 10), 15, dtype=np.float32)
    assert set(hotspot_errors_by_density(truth, grid(10, 2), truth, truth, None)["10"]) == {"noisy_scaled", "refined"}


def test_range_errors_by_side() -> None:
    truth = np.full((2, 80, 80), 4.0, dtype=np.float32)
    assert range_errors(truth, truth, grid(80, 2)) == {"30-120 m": 0, "120-500 m": 0, "500-2000 m": 0}
    # A slice holds 25,600 pings, psi is 25.6: squares of one and four cells are divided by it, others by their counts.
    errors = range_errors(truth, 1.5 * truth, grid(80, 2))
    assert errors["500-2000 m"] == pytest.approx(0.5)
    assert 0.2 < errors["30-120 m"] < 0.5


def test_smape_by_hand() -> None:
    assert smape(np.array([10.0, 0.0, 4.0]), np.array([30.0, 0.0, 0.0])) == pytest.approx((1 + 0 + 2) / 3)


def test_forecasts_of_a_season_are_right_and_worse_from_noise(monkeypatch) -> None:
    monkeypatch.setattr(paper, "_SERIES", 8)  # a model is fitted to each
    rng = np.random.default_rng(3)
    day = 1 + np.sin(2 * np.pi * np.arange(48) / 8)
    truth = (20 * day[:, None, None] * rng.uniform(0.5, 1.5, size=(20, 20))).astype(np.float32)
    right, noisy = forecast_error(truth, truth), forecast_error(truth, truth + rng.normal(0, 200, size=truth.shape))
    assert right == pytest.approx(0, abs=1e-3)
    assert noisy is not None
    assert noisy > 0.1


def test_nothing_is_forecast_without_a_season_or_enough_slices() -> None:
    rng = np.random.default_rng(4)
    assert forecast_error(rng.poisson(9, size=(31, 20, 20)), np.ones((31, 20, 20))) is None
    trend = np.arange(1, 49)[:, None, None] % 5 * np.ones((1, 20, 20))  # a season of five slices is none of eight
    assert forecast_error(trend, trend) is None
