"""Zarr, as xarray opens it."""

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from tests.export.releases import numbered
from vdr_spark.errors import InvalidExport
from vdr_spark.grid import Box


def test_xarray_opens_what_to_xarray_gives(tmp_path: Path) -> None:
    release = numbered(19)  # in three pieces
    release.export(tmp_path / "a.zarr", "zarr")
    opened, given = xr.open_zarr(tmp_path / "a.zarr", chunks=None), release.to_xarray()
    xr.testing.assert_equal(opened, given)
    assert opened["count"].dtype == np.float32
    assert opened["count"].encoding["chunks"] == (8, 5, 5)
    assert opened["count"].attrs["long_name"] == "estimated pings"
    assert given.attrs.items() <= opened.attrs.items()


def test_a_part_of_time_and_place(tmp_path: Path) -> None:
    release = numbered(19, deviation=False)
    start = datetime(2020, 1, 6, 22)  # in the release's zone: inside the second slice
    release.export(tmp_path / "a.zarr", "zarr", box=Box(29.63, -95.63, 29.7, -95.4), start=start)
    opened = xr.open_zarr(tmp_path / "a.zarr", chunks=None)
    assert "deviation" not in opened
    assert opened["time"].to_numpy()[0] == np.datetime64("2020-01-07T03:00")
    assert np.array_equal(opened["count"], release.counts[1:, 1:2, 1:3])


def test_a_folder_that_is_no_store_is_never_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "home.zarr"
    folder.mkdir()
    (folder / "diary").write_text("dear")
    with pytest.raises(InvalidExport, match="is a folder, and not a Zarr store: it is never replaced"):
        numbered().export(folder, "zarr", overwrite=True)
    assert (folder / "diary").read_text() == "dear"
