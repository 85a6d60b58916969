"""The workloads and metrics of the paper's section 5: range counts, nearest hot spots of a density, forecasts.

Places are those of pings chosen at random, and times too. Figures are exact about the data: never part of a release.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np

from vdr_spark.arrays import Floats, Integers, Slices
from vdr_spark.evaluate.metrics import relative_error, smoothing
from vdr_spark.evaluate.workloads import Tensor, range_queries, sample_ping_cells
from vdr_spark.grid import Grid
from vdr_spark.query.likely_hotspots import choose_hotspots
from vdr_spark.query.nearest import NearestCells, find_nearest
from vdr_spark.query.ruler import Ruler
from vdr_spark.query.theta import shows_season, theta
from vdr_spark.sum_errors import deviation_by_chance

DENSITIES = (10, 20, 40)  # pings in a cell
SIDES_M = ((30.0, 120.0), (120.0, 500.0), (500.0, 2000.0))  # the paper's, and larger ones, as planners ask
_EXTENT_M = 5000.0
_HOTSPOT_QUERIES, _RANGE_QUERIES = 1000, 5000
_SERIES, _SEASON, _HORIZON, _SERIES_SIDE = 100, 8, 8, 16  # series; slices of a day, and ahead; cells
_SEED = 3  # of the questions, not of any noise


@dataclass(frozen=True)
class HotspotErrors:
    """How wrong nearest hot spots are, as means over the queries; smaller is better."""

    distance: float  # cells: |distance found - true distance|, one slice as one cell
    regret: float  # pings by which the true count of the cell found falls short of the density
    missed: int  # queries without an answer that have a true one
    false: int  # queries with an answer that have no true one

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def range_errors(truth: Tensor, estimate: Tensor, grid: Grid) -> dict[str, float]:
    """Return the mean relative error of 5,000 range counts in one slice, by their sides in metres."""
    errors, psi = {}, smoothing(truth)
    for low, high in SIDES_M:
        queries = range_queries(truth, grid, _SEED, _RANGE_QUERIES, (low, high))
        errors[f"{low:.0f}-{high:.0f} m"] = relative_error(queries.answers(truth), queries.answers(estimate), psi)
    return errors


@dataclass(frozen=True)
class HotspotWorkload:
    """Places to search from, each a slice, row and column (Q, 3), and the true answers for one density."""

    truth: Tensor
    density: float
    places: Integers
    ruler: Ruler
    answers: NearestCells

    @classmethod
    def of(cls, truth: Tensor, grid: Grid, density: float, seed: int = _SEED) -> HotspotWorkload:
        """Sample 1,000 pings and search the truth from each."""
        places = np.column_stack(sample_ping_cells(truth, _HOTSPOT_QUERIES, np.random.default_rng(seed)))
        ruler = Ruler.of(grid)
        return cls(truth, density, places, ruler, find_nearest(truth, places, density, ruler, _EXTENT_M))

    def by_threshold(self, estimate: Tensor) -> HotspotErrors:
        """Return the errors of the nearest cells whose estimated count reaches the density."""
        return self.score(find_nearest(estimate, self.places, self.density, self.ruler, _EXTENT_M))

    def by_probability(
        self, counts: Slices, deviation: Slices, clump: float = 0.0, at_pings: bool = True
    ) -> HotspotErrors:
        """Return the errors of what a release with error bars answers, told that it is asked at pings, or not.

        `clump` is that of a cell, by which the error bars were widened.
        """
        chance = deviation_by_chance(deviation, counts, clump)
        return self.score(choose_hotspots(counts, chance, self.places, self.density, self.ruler, _EXTENT_M, at_pings))

    def score(self, found: NearestCells) -> HotspotErrors:
        """Return the errors of answers.

        Where nothing is found, in the estimate or in truth, the distance is how far the search reaches; if neither
        finds anything, nothing is wrong. An answer that is missing falls short by the whole density.
        """
        reach = math.hypot(_EXTENT_M / self.ruler.side, len(self.truth) - 1)
        distance, true_distance = (np.minimum(of.distance, reach) for of in (found, self.answers))
        held = self.truth[tuple(found.cells.T)].astype(np.float64)  # the last cell where nothing is found
        regret = np.where(found.found, np.maximum(self.density - held, 0.0), self.density * self.answers.found)
        return HotspotErrors(
            float(np.mean(np.abs(distance - true_distance))),
            float(np.mean(regret)),
            int(np.sum(~found.found & self.answers.found)),
            int(np.sum(found.found & ~self.answers.found)),
        )


def hotspot_errors_by_density(
    truth: Tensor, grid: Grid, noisy: Tensor, counts: Slices, deviation: Slices | None, clump: float = 0.0
) -> dict[str, dict[str, HotspotErrors]]:
    """Return the errors by density, then of noisy counts, of released ones and, with error bars, by probability.

    `clump` is that of a cell, by which the error bars were widened.
    """
    found = {}
    for density in DENSITIES:
        workload = HotspotWorkload.of(truth, grid, density)
        ways = {"noisy_scaled": workload.by_threshold(noisy), "refined": workload.by_threshold(counts)}
        if deviation is not None:
            ways["by_probability"] = workload.by_probability(counts, deviation, clump)
        found[str(density)] = ways
    return found


def forecast_error(truth: Tensor, estimate: Tensor) -> float | None:
    """Return the sMAPE of forecasts of the true last 8 slices from the estimated slices before them.

    Mean over 100 series of squares of 16 x 16 cells at pings: 2 |forecast - truth| / (forecast + truth), by Theta. A
    series can be forecast if the truth before shows a season of 8 slices (the test at 90 %). None where the period is
    shorter than three seasons and a day, or too few squares show one.
    """
    if len(truth) < 3 * _SEASON + _HORIZON:
        return None
    errors = []
    for rows, columns in _forecastable_squares(truth):
        series = estimate[:-_HORIZON, rows, columns].sum(axis=(1, 2), dtype=np.float64)
        ahead = truth[-_HORIZON:, rows, columns].sum(axis=(1, 2), dtype=np.float64)
        mean = theta(series, _SEASON, _HORIZON).mean if np.ptp(series) > 0 else np.full(_HORIZON, series[0])
        errors.append(smape(ahead, np.maximum(mean, 0.0)))
        if len(errors) == _SERIES:
            return float(np.mean(errors))
    return None


def smape(truth: Floats, estimate: Floats) -> float:
    """Return the mean of 2 |estimate - truth| / (estimate + truth), 0 where both are. (H,), (H,)"""
    both = truth + estimate
    return float(np.mean(2 * np.abs(estimate - truth) / np.where(both > 0, both, 1.0)))


def _forecastable_squares(truth: Tensor) -> Iterator[tuple[slice, slice]]:
    """Yield rows and columns of squares at pings whose true series shows its season, of ten times as many looked at."""
    rng, side = np.random.default_rng(_SEED), min(_SERIES_SIDE, truth.shape[1])
    _, rows, columns = sample_ping_cells(truth, 10 * _SERIES, rng)
    for row, column in zip(rows, columns, strict=True):
        south, west = (int(np.clip(at - side // 2, 0, truth.shape[1] - side)) for at in (row, column))
        square = slice(south, south + side), slice(west, west + side)
        series = truth[:-_HORIZON, *square].sum(axis=(1, 2), dtype=np.float64)
        if np.ptp(series) > 0 and shows_season(series, _SEASON):
            yield square
