"""What comes after the released period, from the released series of a box alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.query.answer import Answer
from vdr_spark.query.extrapolation import Extrapolation
from vdr_spark.query.holt_winters import holt_winters
from vdr_spark.query.series import box_deviation, box_series
from vdr_spark.query.theta import theta
from vdr_spark.query.wording import format_count, format_moment

if TYPE_CHECKING:
    from vdr_spark.release.release import Release

METHODS: dict[str, Callable[[Floats, int | None, int], Extrapolation]] = {"theta": theta, "holt_winters": holt_winters}
"""How a series can be extrapolated, by name; each takes the series, the slices in a day (or None) and the horizon."""

_MIN_SLICES = 4  # that a model is fitted to
_MAX_HORIZON = 1000  # slices; more is a slip of the keyboard
_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Forecast(Answer):
    """Expected pings of a box in the slices after the release, with a band of about 95 %."""

    box: Box
    starts: list[datetime]  # one for each slice ahead; as `Hotspot.slice_start`
    mean: Floats  # (horizon,)
    lower: Floats  # (horizon,)
    upper: Floats  # (horizon,)
    method: str
    protected: bool
    told_from_zero: bool = True  # false: the released series behind it is no larger than its own error

    def sentence(self) -> str:
        ahead = len(self.starts)
        if not self.told_from_zero:
            return (
                f"Nothing can be forecast: what was released of this box cannot be told from zero (at most "
                f"{format_count(float(self.upper[0]))} pings in the slice from {format_moment(self.starts[0])})."
            )
        mean, lower, upper = (format_count(float(values[0])) for values in (self.mean, self.lower, self.upper))
        later = "" if ahead == 1 else f", and {format_count(float(self.mean.sum()))} over {ahead} slices in all"
        return (
            f"About {mean} pings (95 %: {lower} to {upper}) in the slice from {format_moment(self.starts[0])}"
            f"{later}, by {self.method}."
        )


def forecast(release: Release, box: Box, horizon: int, method: str = "theta") -> Forecast:
    """Forecast a box for `horizon` slices beyond the release.

    `method` is `theta`, as in the paper, or `holt_winters`. Both know a daily season where the release holds two
    whole days or more of whole slices; Theta uses it only where the series shows it. Fewer than four slices, or a
    constant series, are continued by their mean.
    """
    if not 1 <= horizon <= _MAX_HORIZON:
        raise InvalidQuery(f"horizon must be 1 to {_MAX_HORIZON} slices, not {horizon}; choose one in that range")
    if method not in METHODS:
        raise InvalidQuery(f"method must be one of {', '.join(METHODS)}, not {method!r}; choose one of them")
    series = box_series(release, box)
    if len(series) < _MIN_SLICES or np.ptp(series) == 0:
        ahead = _continue_mean(series, horizon)
    else:
        ahead = METHODS[method](series, _season(release.grid), horizon)
    mean = np.maximum(ahead.mean, 0.0)
    # A denoised series is smoother than the pings it stands for: the band allows for their chance (Poisson), and for
    # the error of what was released.
    deviation = box_deviation(release, box)
    error = 0.0 if deviation is None else float(np.mean(deviation**2))
    half = _NORMAL_95 * np.sqrt(np.maximum(ahead.variance, mean) + error)
    told = deviation is None or bool(np.any(series >= 2 * deviation))
    starts = [release.grid.slice_start(release.grid.slices + step) for step in range(horizon)]
    return Forecast(box, starts, mean, np.maximum(mean - half, 0.0), mean + half, ahead.method, release.protected, told)


def _season(grid: Grid) -> int | None:
    """Return the slices in a day, where they are whole, more than one, and the release holds two days of them."""
    per_day = round(grid.slices_per_day)
    whole = per_day * grid.slice_seconds == 86_400
    return per_day if whole and per_day > 1 and grid.slices >= 2 * per_day else None


def _continue_mean(series: Floats, horizon: int) -> Extrapolation:
    """Continue a series that is too short, or too plain, for a model."""
    variance = float(series.var(ddof=1)) if len(series) > 1 else 0.0
    name = "repeating the only slice" if len(series) == 1 else f"the mean of {len(series)} slices"
    return Extrapolation(np.full(horizon, float(series.mean())), np.full(horizon, variance), name)
