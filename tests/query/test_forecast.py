import warnings
from datetime import UTC, datetime

import numpy as np
import pytest

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query import box_series, forecast

EVERYTHING = Box(0.0, 0.0, 1.0, 1.0)
DAY = np.array([400, 200, 120, 800, 1600, 2000, 2400, 1000.0])


def spread_over_cells(series: object) -> np.ndarray:
    """A tensor of 2 x 2 cells whose slices sum to the series."""
    values = np.asarray(series, dtype=float)
    return np.repeat(values / 4, 4).reshape(-1, 2, 2)


def test_series_of_a_box_counts_cut_cells_by_share(make_release) -> None:
    release = make_release([[[1, 2], [3, 4]], [[10, 20], [30, 40]]])
    np.testing.assert_allclose(box_series(release, Box(0, 0, 0.75, 0.5)), [2.5, 25])


def test_recovers_a_daily_season_that_repeats_exactly(make_release) -> None:
    answer = forecast(make_release(spread_over_cells(np.tile(DAY, 3))), EVERYTHING, horizon=10)
    np.testing.assert_allclose(answer.mean, [*DAY, *DAY[:2]], rtol=1e-4)
    assert "Holt-Winters with a daily season of 8 slices" in answer.method
    assert answer.starts[:2] == [datetime(2020, 1, 10, hour, tzinfo=UTC) for hour in (0, 3)]


@pytest.mark.parametrize("days", [2, 12])
def test_finds_the_season_in_noise_and_its_band_holds_what_comes(make_release, days: int) -> None:
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(40):
        series = np.tile(DAY, days) + rng.normal(0, 100, size=8 * days)
        answer = forecast(make_release(spread_over_cells(series)), EVERYTHING, horizon=8)
        assert np.abs(answer.mean - DAY).max() < 1000 / days**0.5
        seen = DAY + rng.normal(0, 100, size=8)
        inside.append(((answer.lower <= seen) & (seen <= answer.upper)).mean())
    assert 0.9 < np.mean(inside) < 0.99


def test_one_whole_day_is_too_short_for_a_season(make_release) -> None:
    assert forecast(make_release(spread_over_cells(DAY)), EVERYTHING, 2).method == "exponential smoothing"


def test_slices_that_do_not_divide_a_day_have_no_season(make_release) -> None:
    release = make_release(spread_over_cells(np.tile(DAY, 5)), slice_seconds=7 * 3600)
    assert forecast(release, EVERYTHING, 2).method == "exponential smoothing"


def test_smoothing_follows_a_change_of_level(make_release) -> None:
    rng = np.random.default_rng(1)
    series = np.concatenate([rng.normal(100, 3, size=20), rng.normal(1000, 3, size=20)])
    answer = forecast(make_release(spread_over_cells(series), slice_seconds=86_400), EVERYTHING, 1)
    assert answer.mean[0] == pytest.approx(1000, rel=0.05)


@pytest.mark.parametrize(
    ("series", "mean", "method"),
    [
        ([8], 8, "repeating the only slice"),
        ([1, 2, 6], 3, "the mean of 3 slices"),
        ([5] * 40, 5, "the mean of 40 slices"),
        ([0] * 40, 0, "the mean of 40 slices"),
    ],
)
def test_short_and_constant_series_fall_back_to_the_mean(make_release, series, mean, method: str) -> None:
    answer = forecast(make_release(spread_over_cells(series)), EVERYTHING, horizon=3)
    np.testing.assert_allclose(answer.mean, [mean] * 3)
    assert answer.method == method


def test_band_is_never_narrower_than_chance(make_release) -> None:
    answer = forecast(make_release(spread_over_cells([100])), EVERYTHING, 1)
    assert (answer.lower[0], answer.upper[0]) == pytest.approx((80.4, 119.6))


def test_never_negative(make_release) -> None:
    answer = forecast(make_release(spread_over_cells(np.tile(DAY - 1000, 4))), EVERYTHING, 8)
    assert min(answer.mean.min(), answer.lower.min(), answer.upper.min()) >= 0
    assert answer.mean.max() == pytest.approx(1400, rel=0.01)
    short = forecast(make_release(spread_over_cells([-5, -7])), EVERYTHING, 1)
    assert (short.mean[0], short.lower[0]) == (0, 0)


def test_is_silent(make_release) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecast(make_release(spread_over_cells(np.tile(DAY, 2))), EVERYTHING, 1)


@pytest.mark.parametrize("horizon", [0, -3, 1001])
def test_refuses_an_impossible_horizon(make_release, horizon: int) -> None:
    with pytest.raises(InvalidQuery, match=f"horizon must be 1 to 1000 slices, not {horizon}"):
        forecast(make_release(spread_over_cells(DAY)), EVERYTHING, horizon)


def test_refuses_a_box_outside(make_release) -> None:
    with pytest.raises(InvalidQuery, match="north must lie inside"):
        forecast(make_release(spread_over_cells(DAY)), Box(0, 0, 2, 1), 1)


def test_says_the_answer_in_a_sentence(make_release) -> None:
    release = make_release(spread_over_cells([100]))
    assert forecast(release, EVERYTHING, 1).sentence() == (
        "About 100 pings (95 %: 80 to 120) in the slice from 2020-01-07 03:00 UTC, by repeating the only slice."
    )
    assert "and 200 over 2 slices in all" in forecast(release, EVERYTHING, 2).sentence()
