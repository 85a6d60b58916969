import warnings
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pytest
from statsmodels.tsa.forecasting.theta import ThetaModel
from statsmodels.tsa.stattools import acf

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query import box_series, forecast
from vdr_spark.query.theta import shows_season

EVERYTHING = Box(0.0, 0.0, 1.0, 1.0)
DAY = np.array([400, 200, 120, 800, 1600, 2000, 2400, 1000.0])


def spread_over_cells(series: object) -> np.ndarray:
    """A tensor of 2 x 2 cells whose slices sum to the series."""
    values = np.asarray(series, dtype=float)
    return np.repeat(values / 4, 4).reshape(-1, 2, 2)


def test_series_of_a_box_counts_cut_cells_by_share(make_release) -> None:
    release = make_release([[[1, 2], [3, 4]], [[10, 20], [30, 40]]])
    np.testing.assert_allclose(box_series(release, Box(0, 0, 0.75, 0.5)), [2.5, 25])


METHODS = pytest.mark.parametrize("method", ["theta", "holt_winters"])
NAMES = {"theta": "the Theta method", "holt_winters": "Holt-Winters"}
WITHOUT_SEASON = {"theta": "the Theta method", "holt_winters": "exponential smoothing"}


@METHODS
@pytest.mark.parametrize("days", [2, 3])
def test_recovers_a_daily_season_that_repeats_exactly(make_release, days: int, method: str) -> None:
    answer = forecast(make_release(spread_over_cells(np.tile(DAY, days))), EVERYTHING, 10, method)
    np.testing.assert_allclose(answer.mean, [*DAY, *DAY[:2]], rtol=1e-4)
    assert answer.method == f"{NAMES[method]} with a daily season of 8 slices"
    first = datetime(2020, 1, 7 + days, tzinfo=UTC)
    assert answer.starts[:2] == [first, first.replace(hour=3)]


@METHODS
@pytest.mark.parametrize("days", [2, 12])
def test_finds_the_season_in_noise_and_its_band_holds_what_comes(make_release, days: int, method: str) -> None:
    rng = np.random.default_rng(5)
    inside = []
    for _ in range(40):
        series = np.tile(DAY, days) + rng.normal(0, 100, size=8 * days)
        answer = forecast(make_release(spread_over_cells(series)), EVERYTHING, 8, method)
        assert np.abs(answer.mean - DAY).max() < 1000 / days**0.5
        seen = DAY + rng.normal(0, 100, size=8)
        inside.append(((answer.lower <= seen) & (seen <= answer.upper)).mean())
    assert 0.9 < np.mean(inside) < 0.99


def test_theta_is_the_default(make_release) -> None:
    release = make_release(spread_over_cells(np.tile(DAY, 3)))
    assert forecast(release, EVERYTHING, 1).method.startswith("the Theta method")


def test_both_methods_continue_a_known_series(make_release) -> None:
    """A season on a slope, whose continuation is known: both are far better than repeating the mean."""
    line = 3000 + 20 * np.arange(8 * 7)
    series = line + np.tile(DAY, 7) + np.random.default_rng(2).normal(0, 40, size=line.size)
    release = make_release(spread_over_cells(series[:48]))
    truth, naive = series[48:], np.full(8, series[:48].mean())
    for method in ("theta", "holt_winters"):
        answer = forecast(release, EVERYTHING, 8, method)
        assert np.abs(answer.mean - truth).mean() < 0.25 * np.abs(naive - truth).mean(), method
        assert ((answer.lower < truth) & (truth < answer.upper)).mean() > 0.7, method


def test_theta_takes_no_season_out_of_a_series_that_shows_none(make_release) -> None:
    rng = np.random.default_rng(3)
    plain = [
        forecast(make_release(spread_over_cells(rng.normal(500, 50, size=96))), EVERYTHING, 1).method for _ in range(20)
    ]
    assert plain.count("the Theta method") > 14
    alternating = np.tile(np.concatenate([DAY, 2400 - DAY]), 4)  # what is busy today is empty tomorrow
    assert forecast(make_release(spread_over_cells(alternating)), EVERYTHING, 1).method == "the Theta method"


def test_the_band_of_theta_is_that_of_what_is_left_without_the_season(make_release) -> None:
    series = np.tile(DAY, 12) + np.random.default_rng(4).normal(0, 100, size=96)
    answer = forecast(make_release(spread_over_cells(series)), EVERYTHING, 8)
    half = answer.upper - answer.mean
    assert 150 < half.min() <= half.max() < 350  # 1.96 x 100, a little wider; the season alone would make 1500


def test_refuses_a_method_that_there_is_not(make_release) -> None:
    with pytest.raises(InvalidQuery, match="method must be one of theta, holt_winters, not 'arima'"):
        forecast(make_release(spread_over_cells(DAY)), EVERYTHING, 1, "arima")


@METHODS
def test_one_whole_day_is_too_short_for_a_season(make_release, method: str) -> None:
    answer = forecast(make_release(spread_over_cells(DAY)), EVERYTHING, 2, method)
    assert answer.method == WITHOUT_SEASON[method]


@METHODS
def test_slices_that_do_not_divide_a_day_have_no_season(make_release, method: str) -> None:
    release = make_release(spread_over_cells(np.tile(DAY, 5)), slice_seconds=7 * 3600)
    assert forecast(release, EVERYTHING, 2, method).method == WITHOUT_SEASON[method]


@METHODS
def test_smoothing_follows_a_change_of_level(make_release, method: str) -> None:
    rng = np.random.default_rng(1)
    series = np.concatenate([rng.normal(100, 3, size=20), rng.normal(1000, 3, size=20)])
    answer = forecast(make_release(spread_over_cells(series), slice_seconds=86_400), EVERYTHING, 1, method)
    assert answer.mean[0] == pytest.approx(1000, rel=0.05)


@METHODS
@pytest.mark.parametrize("series", [[3, 1, 4, 1], [0, 0, 0, 7], [1e6, 0, 1e6, 0, 1e6]])
def test_a_few_slices_are_enough(make_release, series: list[float], method: str) -> None:
    answer = forecast(make_release(spread_over_cells(series)), EVERYTHING, 1000, method)
    for values in (answer.mean, answer.lower, answer.upper):
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert answer.method == WITHOUT_SEASON[method]


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


@METHODS
def test_never_negative(make_release, method: str) -> None:
    answer = forecast(make_release(spread_over_cells(np.tile(DAY - 1000, 4))), EVERYTHING, 8, method)
    assert min(answer.mean.min(), answer.lower.min(), answer.upper.min()) >= 0
    assert answer.mean.max() == pytest.approx(1400, rel=0.01)
    short = forecast(make_release(spread_over_cells([-5, -7])), EVERYTHING, 1)
    assert (short.mean[0], short.lower[0]) == (0, 0)


@METHODS
def test_is_silent(make_release, method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        forecast(make_release(spread_over_cells(np.tile(DAY, 2))), EVERYTHING, 1, method)
        forecast(make_release(spread_over_cells(DAY)), EVERYTHING, 1, method)


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
    answer = forecast(replace(release, protected=False), EVERYTHING, 1)
    assert str(answer) == f"UNPROTECTED, from a test seed: {answer.sentence()}"
    assert "and 200 over 2 slices in all" in forecast(release, EVERYTHING, 2).sentence()


def test_the_test_of_a_season_is_that_of_statsmodels_where_the_series_is_long() -> None:
    rng = np.random.default_rng(0)
    decisions = []
    for strength in np.linspace(0, 1, 30):
        series = rng.normal(size=800) + strength * np.sin(2 * np.pi * np.arange(800) / 8)
        model = ThetaModel(series, period=8, use_test=True, method="additive")
        correlation = acf(series, nlags=8, fft=True)
        model.fit()
        theirs = bool(model._has_seasonality) and correlation[8] > 0
        decisions.append((shows_season(series, 8), theirs))
    assert sum(ours == theirs for ours, theirs in decisions) >= 29  # the two divisors differ by a hundredth
    assert {ours for ours, _ in decisions} == {True, False}
