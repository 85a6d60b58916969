"""What every forecasting method returns, and the widening of its band that a short season asks for."""

from __future__ import annotations

from dataclasses import dataclass

from vdr_spark.arrays import Floats


@dataclass(frozen=True)
class Extrapolation:
    """Mean and variance of the slices ahead, each (horizon,), and the name of what made them."""

    mean: Floats
    variance: Floats
    method: str


def widening(slices: int, season: int | None) -> float:
    """Return the factor by which a variance from residuals is too small for a forecast.

    A daily profile is the mean of few days: residuals from it are too small by n / (n - p), and it errs by p / n
    itself, n slices and p phases of the day; together (n + p) / (n - p).
    """
    phases = season or 1
    return (slices + phases) / max(slices - phases, 1)
