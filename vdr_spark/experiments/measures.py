"""How far a released tensor is from the truth, as rows of a table: what was asked, and figures.

Queries are sampled once per place by a seed, so that every setting and every draw is asked the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.errors import InvalidConfig
from vdr_spark.evaluate.metrics import cell_errors, relative_error, smoothing
from vdr_spark.evaluate.paper import DENSITIES, HotspotWorkload, forecast_error
from vdr_spark.evaluate.workloads import RangeQueries, range_queries
from vdr_spark.experiments.draws import Released
from vdr_spark.experiments.location_data import Data

Row = dict[str, Any]
"""What was asked, by name, and the figures found."""

_SEED = 1  # of the questions, not of any noise
_SIDES = ((1, 4),)  # cells: of the paper's 30 m they are its 30 to 120 m
_QUERIES = 5000


@dataclass
class Truth:
    """The exact counts of a place, and the questions asked of it. Keeps what every release is compared with."""

    data: Data
    slices: int | None = None  # the first so many are asked about; None: all

    @cached_property
    def counts(self) -> Slices:
        """(T, M, M), or the first slices of it."""
        return self.data.truth[: self.slices]

    @cached_property
    def _hotspots(self) -> dict[float, HotspotWorkload]:
        return {}

    @cached_property
    def _ranges(self) -> dict[tuple[float, float, int], RangeQueries]:
        return {}

    def hotspots(self, density: float) -> HotspotWorkload:
        """Return places to search from, and the true answers."""
        if density not in self._hotspots:
            self._hotspots[density] = HotspotWorkload.of(self.counts, self.data.grid, density)
        return self._hotspots[density]

    def ranges(self, low_m: float, high_m: float, length: int) -> RangeQueries:
        """Return squares at pings with sides in metres, over so many slices."""
        key = (low_m, high_m, length)
        if key not in self._ranges:
            arguments = (self.counts, self.data.grid, _SEED, _QUERIES, (low_m, high_m))
            self._ranges[key] = range_queries(*arguments, length=length)
        return self._ranges[key]

    @property
    def side_m(self) -> float:
        """The side of a cell, in metres."""
        return self.data.grid.cell_metres[0]


def measure_ranges(truth: Truth, released: Released, options: Mapping[str, Any]) -> list[Row]:
    """Return the relative error of 5,000 squares at pings by their side, and by their length in time.

    Sides are `sides`, in cells, or `sides_m`, in metres and rounded to whole cells, one at least. `lengths` are
    `slice` (one) or `day`: as many slices as make one. psi is 0.1 % of the mean of as many slices.
    """
    rows, per_day = [], max(1, round(truth.data.grid.slices_per_day))
    for length in options.get("lengths", ["slice"]):
        slices = 1 if length == "slice" else min(per_day, len(truth.counts))
        for side, (low, high) in _sides(truth, options).items():
            queries, psi = truth.ranges(low, high, slices), smoothing(truth.counts) * slices
            error = relative_error(queries.answers(truth.counts), queries.answers(released.counts), psi)
            rows.append({"side": side, "length": length, "relative_error": error})
    return rows


def _sides(truth: Truth, options: Mapping[str, Any]) -> dict[int | str, tuple[float, float]]:
    """Return what sides are called, and each in metres."""
    if "sides_m" in options:
        return {f"{low}-{high} m": (low, high) for low, high in options["sides_m"]}
    cells = options.get("sides", _SIDES)
    return {low if low == high else f"{low}-{high}": (low * truth.side_m, high * truth.side_m) for low, high in cells}


def measure_cells(truth: Truth, released: Released, _options: Mapping[str, Any]) -> list[Row]:
    """Return errors of single cells, anywhere and at 5,000 pings, and the ratio of the sums."""
    mae, rmse = cell_errors(truth.counts, released.counts)
    queries = truth.ranges(truth.side_m, truth.side_m, 1)
    at_pings = float(np.mean(np.abs(queries.answers(released.counts) - queries.answers(truth.counts))))
    ratio = float(released.counts.sum(dtype="float64") / truth.counts.sum(dtype="float64"))
    return [{"mae": mae, "mae_at_pings": at_pings, "rmse": rmse, "total_ratio": ratio}]


def measure_hotspots(truth: Truth, released: Released, options: Mapping[str, Any]) -> list[Row]:
    """Return distance and regret of nearest hot spots by density: by the count and, with error bars, by probability.

    By probability it is known that somebody asks at a ping, as the questions are.
    """
    rows = []
    for density in options.get("densities", DENSITIES):
        workload = truth.hotspots(density)
        ways = {"count": workload.by_threshold(released.counts)}
        if released.deviation is not None and options.get("by_probability", True):
            ways["probability"] = workload.by_probability(released.counts, released.deviation, released.clump)
        rows += [
            {"density": density, "searched_by": way, "distance": errors.distance, "regret": errors.regret}
            for way, errors in ways.items()
        ]
    return rows


def measure_forecasts(truth: Truth, released: Released, options: Mapping[str, Any]) -> list[Row]:
    """Return the sMAPE of forecasts of the last 8 slices; with `where_possible` nothing where there is none."""
    smape = forecast_error(truth.counts, released.counts)
    if smape is None and options.get("where_possible"):
        return []
    if smape is None:
        raise InvalidConfig(
            "forecasts need at least 32 slices and 100 squares of 16 x 16 cells whose counts show a season of 8 "
            f"slices; these pings, in {len(truth.counts)} slices, have fewer. Take slices of 3 hours, more days, or "
            "more pings"
        )
    return [{"smape": smape}]


MEASURES: dict[str, Callable[[Truth, Released, Mapping[str, Any]], list[Row]]] = {
    "ranges": measure_ranges,
    "cells": measure_cells,
    "hotspots": measure_hotspots,
    "forecasts": measure_forecasts,
}
"""Measures by name."""


def measure(names: Sequence[str], truth: Truth, released: Released, options: Mapping[str, Any]) -> list[Row]:
    """Return the rows of several measures."""
    return [row | {"measure": name} for name in names for row in MEASURES[name](truth, released, options)]
