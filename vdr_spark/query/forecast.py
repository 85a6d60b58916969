"""What comes after the released period, from the released series of a box alone."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.query.coverage import cover_box
from vdr_spark.query.wording import amount, written

if TYPE_CHECKING:
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    from vdr_spark.release.model import Release

_FEWEST = 4  # slices that a smoothing model is fitted to
_FARTHEST = 1000  # slices ahead; more is a slip of the keyboard
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Forecast:
    """Expected pings of a box in the slices after the release, with a band of about 95 %."""

    box: Box
    starts: list[datetime]  # UTC, one a slice ahead
    mean: NDArray[np.float64]  # (horizon,)
    lower: NDArray[np.float64]  # (horizon,)
    upper: NDArray[np.float64]  # (horizon,)
    method: str

    def sentence(self) -> str:
        ahead = len(self.starts)
        mean, lower, upper = (amount(float(values[0])) for values in (self.mean, self.lower, self.upper))
        later = "" if ahead == 1 else f", and {amount(float(self.mean.sum()))} over {ahead} slices in all"
        return (
            f"About {mean} pings (95 %: {lower} to {upper}) in the slice from {written(self.starts[0])}"
            f"{later}, by {self.method}."
        )


def forecast(release: Release, box: Box, horizon: int) -> Forecast:
    """Forecast a box for `horizon` slices beyond the release.

    Additive Holt-Winters (damped trend, daily season) where the release holds two whole days or more of
    whole slices, else exponential smoothing, else, for fewer than four slices or a constant series, the mean.
    """
    if not 1 <= horizon <= _FARTHEST:
        raise InvalidQuery(f"horizon must be 1 to {_FARTHEST} slices, not {horizon}; choose one in that range")
    series = box_series(release, box)
    mean, variance, method = _extrapolate(series, _season(release.grid), horizon)
    # A denoised series is smoother than the pings it stands for: the band allows for their chance (Poisson).
    half = _NORMAL_95 * np.sqrt(np.maximum(variance, mean))
    starts = [release.grid.slice_start(release.grid.slices + step) for step in range(horizon)]
    return Forecast(box, starts, mean, np.maximum(mean - half, 0.0), mean + half, method)


def box_series(release: Release, box: Box) -> NDArray[np.float64]:
    """Released pings of a box in every slice, cut cells by their covered share. (T,)"""
    rows, columns = cover_box(release.grid, box)
    layers = release.counts[:, rows.cells, columns.cells]
    return np.array([rows.shares @ layer.astype(np.float64) @ columns.shares for layer in layers])


def _season(grid: Grid) -> int | None:
    """Slices in a day, where they are whole, more than one, and the release holds two days of them."""
    per_day = round(grid.slices_per_day)
    whole = per_day * grid.slice_seconds == 86_400
    return per_day if whole and per_day > 1 and grid.slices >= 2 * per_day else None


def _extrapolate(
    series: NDArray[np.float64], season: int | None, horizon: int
) -> tuple[NDArray[np.float64], NDArray[np.float64], str]:
    """Mean (never negative) and variance of the slices ahead, and the name of the method."""
    if len(series) < _FEWEST or np.ptp(series) == 0:
        variance = float(series.var(ddof=1)) if len(series) > 1 else 0.0
        level = max(float(series.mean()), 0.0)
        name = "repeating the only slice" if len(series) == 1 else f"the mean of {len(series)} slices"
        return np.full(horizon, level), np.full(horizon, variance), name
    if season is None:
        return *_smooth(series, None, horizon), "exponential smoothing"
    return *_smooth(series, season, horizon), f"Holt-Winters with a daily season of {season} slices"


def _smooth(
    series: NDArray[np.float64], season: int | None, horizon: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and variance ahead by an additive innovations model."""
    from statsmodels.tools.sm_exceptions import ConvergenceWarning  # slow to import, and only needed here

    # A series that repeats exactly has an infinite likelihood, where the search has nothing left to improve.
    with warnings.catch_warnings(), np.errstate(divide="ignore", invalid="ignore"):
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = _model(series, season).fit(disp=False)
        ahead = fitted.get_prediction(start=len(series), end=len(series) + horizon - 1)
    # The profile is the mean of few days: residuals from it are too small by n / (n - p), and it errs by p / n.
    states = season or 1
    widening = (len(series) + states) / max(len(series) - states, 1)
    return np.maximum(np.asarray(ahead.predicted_mean), 0.0), np.asarray(ahead.var_pred_mean) * widening


def _model(series: NDArray[np.float64], season: int | None) -> ETSModel:
    """The model with its initial state computed, not fitted: 144 slices a day would be 144 parameters."""
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
