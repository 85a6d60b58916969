"""A release as a pandas frame and as an xarray dataset."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.grid import Box, Grid
from vdr_spark.query.coverage import cover_box, cover_period

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from vdr_spark.release.release import Release


def cells_frame(release: Release, box: Box | None, start: datetime | None, end: datetime | None) -> pd.DataFrame:
    """Return one row for each cell that the box and the period touch, in the order of the cells."""
    import pandas as pd

    grid = release.grid
    rows, columns = cover_box(grid, grid.box if box is None else box)
    _, _, slices = cover_period(grid, start, end)
    part = (slices.cells, rows.cells, columns.cells)
    axes = (np.arange(axis.start, axis.stop, dtype=np.int32) for axis in part)
    numbers, y, x = (axis.ravel() for axis in np.meshgrid(*axes, indexing="ij"))
    deviation = np.float32(np.nan) if release.deviation is None else release.deviation[part].ravel()
    return pd.DataFrame(
        {
            "slice": numbers,
            "slice_start": pd.DatetimeIndex(_slice_starts(grid), tz="UTC")[numbers],
            "y": y,
            "x": x,
            "lat": grid.latitudes()[y],
            "lon": grid.longitudes()[x],
            "count": release.counts[part].ravel(),
            "deviation": deviation,
        }
    )


def cells_dataset(release: Release) -> xr.Dataset:
    """Return counts and deviations over time, lat and lon, with the promise in the attributes."""
    try:
        import xarray as xr
    except ImportError:
        raise EnvironmentProblem(
            "to_xarray needs xarray, which is not installed; run: pip install vdr-spark[xarray]"
        ) from None
    grid, axes = release.grid, ("time", "lat", "lon")
    layers = {"count": (axes, release.counts, {"long_name": "estimated pings", "units": "1"})}
    if release.deviation is not None:
        layers["deviation"] = (axes, release.deviation, {"long_name": "standard deviation of count", "units": "1"})
    places = {
        "time": ("time", _slice_starts(grid), {"long_name": "start of the slice, UTC"}),
        "lat": ("lat", grid.latitudes(), {"long_name": "latitude of the cell's centre", "units": "degrees_north"}),
        "lon": ("lon", grid.longitudes(), {"long_name": "longitude of the cell's centre", "units": "degrees_east"}),
    }
    promise: dict[str, str | int] = {
        "release_id": release.release_id,
        "protected": int(release.protected),
        "epsilon": release.promise.figure,
        "k": release.k,
        "statement": json.dumps(release.statement, sort_keys=True),
    }
    if release.promise.delta is not None:
        promise["delta"] = str(release.promise.delta)
    if release.withdrawal is not None:
        promise["withdrawn"] = str(release.withdrawal)
    return xr.Dataset(layers, places, promise)


def _slice_starts(grid: Grid) -> np.ndarray[tuple[int], np.dtype[np.datetime64]]:
    """Return when every slice begins, in UTC, which NumPy writes without a zone. (T,)"""
    first = np.datetime64(grid.start.astimezone(UTC).replace(tzinfo=None), "ns")
    return first + np.arange(grid.slices) * np.timedelta64(grid.slice_seconds, "s")
