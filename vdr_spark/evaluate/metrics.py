"""How far an estimate is from the truth. The figures are exact about the data: never part of a release."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from vdr_spark.evaluate.workloads import HotspotQueries, RangeQueries, Tensor

# Counts below this share of a mean slice are not divided by: one missed ping is no error of 100 %.
SMOOTHING_SHARE = 0.001


@dataclass(frozen=True)
class Errors:
    """What is wrong with one estimate; smaller is better everywhere."""

    relative_error: float  # of range counts
    mae: float  # pings per cell
    rmse: float  # pings per cell
    hotspot_distance: float  # cells
    hotspot_regret: float  # pings

    def as_dict(self) -> dict[str, float]:
        return asdict(self)


def compare(truth: Tensor, estimate: Tensor, ranges: RangeQueries, hotspots: HotspotQueries) -> Errors:
    """Return all errors of an estimate of all pings, both (T, M, M), over one workload."""
    relative = relative_error(ranges.answers(truth), ranges.answers(estimate), smoothing(truth))
    mae, rmse = cell_errors(truth, estimate)
    distance, regret = hotspot_errors(truth, estimate, hotspots)
    return Errors(relative, mae, rmse, distance, regret)


def smoothing(truth: Tensor) -> float:
    """Return psi, 0.1 % of the pings of the mean slice."""
    return SMOOTHING_SHARE * float(truth.sum(dtype=np.float64)) / len(truth)


def relative_error(truth: NDArray[Any], estimate: NDArray[Any], psi: float) -> float:
    """Return the mean over queries of |estimate - truth| / max(truth, psi), from the answers. (Q,), (Q,)"""
    return float(np.mean(np.abs(estimate - truth) / np.maximum(truth, psi)))


def cell_errors(truth: Tensor, estimate: Tensor) -> tuple[float, float]:
    """Return the mean absolute and the root mean square error of a cell."""
    absolute = squared = 0.0
    for true_layer, layer in zip(truth, estimate, strict=True):  # a float64 copy of all would be large
        difference = layer.astype(np.float64) - true_layer
        absolute += float(np.abs(difference).sum())
        squared += float(np.square(difference).sum())
    return absolute / truth.size, float(np.sqrt(squared / truth.size))


def hotspot_errors(truth: Tensor, estimate: Tensor, queries: HotspotQueries) -> tuple[float, float]:
    """Return the paper's two errors of nearest hot spots, as means over queries.

    Distance: |distance by the estimate - true distance|, in cells. Regret: by how many pings the cell that
    the estimate names falls short of the threshold in truth, 0 where it reaches it.
    """
    true_distance, _, _ = _find_nearest(truth, queries)
    distance, rows, columns = _find_nearest(estimate, queries)
    found = truth[queries.slices, rows, columns].astype(np.float64)
    regret = np.maximum(queries.thresholds - found, 0.0)
    return float(np.mean(np.abs(distance - true_distance))), float(np.mean(regret))


def _find_nearest(
    tensor: Tensor, queries: HotspotQueries
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return distance, row and column of the hot spot nearest to each query.

    Where no cell of a slice reaches the threshold, the largest one is named: it is the best guess there is.
    """
    distances = np.zeros(len(queries.slices))
    cells = np.zeros((len(queries.slices), 2), dtype=np.int64)
    places = np.column_stack((queries.rows, queries.columns))
    pairs = np.column_stack((queries.slices, queries.thresholds))
    for number, threshold in np.unique(pairs, axis=0):
        chosen = np.flatnonzero((pairs == (number, threshold)).all(axis=1))
        layer = tensor[int(number)]
        hot = np.argwhere(layer >= min(threshold, float(layer.max())))
        distances[chosen], which = cKDTree(hot).query(places[chosen])
        cells[chosen] = hot[which]
    return distances, cells[:, 0], cells[:, 1]
