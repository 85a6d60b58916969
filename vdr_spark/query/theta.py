"""The Theta method (Assimakopoulos and Nikolopoulos, 2000), by statsmodels' `ThetaModel`.

The series is freed of its daily season, where its autocorrelation shows one; what is left is forecast by the mean of
a straight line and exponential smoothing; the season is put back. The season is added, not multiplied: so is the noise
of a release, and nights may be empty.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.query.extrapolation import Extrapolation, widening

if TYPE_CHECKING:
    from statsmodels.tsa.forecasting.theta import ThetaModelResults


_CONSTANT = 1e-9  # a relative spread below this is rounding
_NORMAL_95_ONE_SIDED = 1.645


def theta(series: Floats, season: int | None, horizon: int) -> Extrapolation:
    """Extrapolate a series (T,), with the variance of the model behind Theta, smoothing with a drift.

    Its error h slices ahead has the variance s^2 (1 + (h - 1) a^2), a the weight of smoothing and s^2 that of one
    slice ahead. Both differ from `ThetaModelResults.prediction_intervals`, which takes s^2 from the series with its
    season still in it, and lets it grow by 1 + (1 - a)^2 with each slice.
    """
    fitted = _fit(series, season)
    profile = _profile(fitted, season)
    past, ahead = np.split(np.resize(profile, len(series) + horizon), [len(series)])
    smooth = series - past
    if np.ptp(smooth) <= _CONSTANT * np.abs(series).max():
        # The season repeats exactly: statsmodels would take the constant that is left for a trend.
        mean, errors = smooth.mean() + ahead, np.zeros(1)
    else:
        mean, errors = np.asarray(fitted.forecast(horizon)), _one_step_errors(smooth, fitted)
    used = season if np.ptp(profile) > 0 else None
    growth = 1 + np.arange(horizon) * float(fitted.params["alpha"]) ** 2
    variance = np.mean(errors**2) * growth * widening(len(series), used)
    name = f"the Theta method with a daily season of {used} slices" if used else "the Theta method"
    return Extrapolation(mean, variance, name)


def _fit(series: Floats, season: int | None) -> ThetaModelResults:
    from statsmodels.tools.sm_exceptions import ConvergenceWarning  # slow to import, and only needed here
    from statsmodels.tsa.forecasting.theta import ThetaModel

    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        # Nothing is left to improve in a series that repeats exactly.
        warnings.simplefilter("ignore", ConvergenceWarning)
        deseasonalize = season is not None and shows_season(series, season)
        model = ThetaModel(series, period=season, deseasonalize=deseasonalize, use_test=False, method="additive")
        return model.fit()


def shows_season(series: Floats, season: int) -> bool:
    """Return whether the autocorrelation over a day stands out of those over less than a day: the test at 90 %.

    That is 1.645 standard errors, as Assimakopoulos and Nikolopoulos have it; one-sided, a level of 5 %.

    This is the test of `ThetaModel`, but for two things. Its autocorrelation is divided by all slices, so that over
    two days it cannot exceed a half, and no season would ever be seen; here it is divided by the pairs of slices.
    And what is busy on one day and empty on the next, a negative autocorrelation, is no season.
    """
    from statsmodels.tsa.stattools import acf

    correlation = acf(series, nlags=season, adjusted=True, fft=True)
    statistic = len(series) * correlation[season] ** 2 / np.sum(correlation[:season] ** 2)
    return bool(correlation[season] > 0 and statistic > _NORMAL_95_ONE_SIDED**2)


def _profile(fitted: ThetaModelResults, season: int | None) -> Floats:
    """Return the season that was found, from slice 0 on; zeros where there is none. (season,)"""
    phases = season or 1
    ahead = np.asarray(fitted.forecast_components(phases)["seasonal"])
    return np.roll(ahead, fitted.model.endog_orig.shape[0] % phases)


def _one_step_errors(smooth: Floats, fitted: ThetaModelResults) -> Floats:
    """Return by how much smoothing with the drift of Theta missed each slice from the one before it. (T - 1,)"""
    weight, drift = float(fitted.params["alpha"]), float(fitted.params["b0"]) / 2
    level, errors = smooth[0], np.empty(len(smooth) - 1)
    for number, value in enumerate(smooth[1:]):
        errors[number] = value - level - drift
        level += drift + weight * errors[number]
    return errors
