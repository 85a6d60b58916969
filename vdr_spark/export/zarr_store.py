"""Zarr, a folder of chunks, for xarray: `count` and `deviation` over time, lat and lon.

Of format 2, which readers of either format open, with its metadata in one place.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zarr  # noqa: F401 - xarray writes by it; where it is missing, that is told here

from vdr_spark.export.labels import labels_of
from vdr_spark.export.part import Part
from vdr_spark.progress import Update

if TYPE_CHECKING:
    import xarray as xr

_SLICES, _TILE = 8, 192  # of a chunk, 1.2 MB: both a map and the course of time at a place touch few of them


class ZarrStore:
    """Writes a folder."""

    @property
    def endings(self) -> tuple[str, ...]:
        return (".zarr",)

    def companions(self, _path: Path) -> list[Path]:
        return []

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Write the first slices, and append the others, as many at a time as a chunk holds."""
        dataset = _dataset(part)
        for first in range(0, len(part.slices), _SLICES):
            some = dataset.isel(time=slice(first, first + _SLICES))
            how: dict[str, Any] = {"append_dim": "time"} if first else {"encoding": _encoding(part, dataset)}
            some.to_zarr(paths[0], zarr_format=2, consolidated=True, **how)
            done = min(first + _SLICES, len(part.slices))
            update(done * len(part.rows) * len(part.columns), part.name_slice(part.slices[done - 1]))


def _dataset(part: Part) -> xr.Dataset:
    """Return the part as xarray has it, uncopied, with all labels; `protected` is 1 or 0, as in `to_xarray`."""
    slices, rows, columns = (slice(axis.start, axis.stop) for axis in (part.slices, part.rows, part.columns))
    dataset = part.release.to_xarray().isel(time=slices, lat=rows, lon=columns)
    return dataset.assign_attrs(labels_of(part) | dataset.attrs)


def _encoding(part: Part, dataset: xr.Dataset) -> dict[str, dict[str, Any]]:
    chunks = (min(_SLICES, len(part.slices)), min(_TILE, len(part.rows)), min(_TILE, len(part.columns)))
    # Said for the first slices: those that are appended must be counted from the same moment.
    time = {"units": "seconds since 1970-01-01", "dtype": "int64", "chunks": (len(part.slices),)}
    return {"time": time} | {str(name): {"chunks": chunks} for name in dataset.data_vars}
