"""Additive Holt-Winters (damped trend, daily season); exponential smoothing where there is no season."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.query.extrapolation import Extrapolation, widening

if TYPE_CHECKING:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel


def holt_winters(series: Floats, season: int | None, horizon: int) -> Extrapolation:
    """Extrapolate a series (T,) by an additive innovations model, with its own variance."""
    from statsmodels.tools.sm_exceptions import ConvergenceWarning  # slow to import, and only needed here

    # A series that repeats exactly has an infinite likelihood, where the search has nothing left to improve.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = _model(series, season).fit(disp=False)
        ahead = fitted.get_prediction(start=len(series), end=len(series) + horizon - 1)
    variance = np.asarray(ahead.var_pred_mean) * widening(len(series), season)
    name = f"Holt-Winters with a daily season of {season} slices" if season else "exponential smoothing"
    return Extrapolation(np.asarray(ahead.predicted_mean), variance, name)


def _model(series: Floats, season: int | None) -> ETSModel:
    """Return the model with its initial state computed, not fitted: 144 slices a day would be 144 parameters."""
    import pandas as pd
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    level = float(series.mean())
    if season is None:
        return ETSModel(pd.Series(series), initialization_method="known", initial_level=level)
    return ETSModel(
        pd.Series(series),
        trend="add",
        damped_trend=True,
        seasonal="add",
        seasonal_periods=season,
        initialization_method="known",
        initial_level=level,
        initial_trend=0.0,
        initial_seasonal=np.array([series[phase::season].mean() for phase in range(season)]) - level,
    )
