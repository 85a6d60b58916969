"""GeoTIFF, as GDAL and a validator of cloud-optimised files read it."""

from pathlib import Path

import numpy as np
import pytest
import rasterio
from rasterio.shutil import copy
from rio_cogeo.cogeo import cog_validate

from tests.export.releases import BOX, files_of_at_most, numbered
from vdr_spark.errors import InvalidExport
from vdr_spark.export import geotiff
from vdr_spark.grid import Box


def test_north_is_up_and_every_slice_is_a_band(tmp_path: Path) -> None:
    release = numbered()
    release.export(tmp_path / "a.tif", "geotiff")
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.crs.to_epsg() == 4326
        assert tuple(file.bounds) == pytest.approx((BOX.west, BOX.south, BOX.east, BOX.north))
        assert file.transform.e < 0
        assert (file.count, file.dtypes[0]) == (3, "float32")
        assert file.descriptions[:2] == ("2020-01-06T18:00-06:00", "2020-01-06T21:00-06:00")
        bands = file.read()
        # By place, not by row: the middle of the south-western, north-western and south-eastern cell.
        places = [(-95.72, 29.56), (-95.72, 30.04), (-95.08, 29.56)]
        corners = [values[1] for values in file.sample(places)]
    assert corners == [release.counts[1, 0, 0], release.counts[1, 4, 0], release.counts[1, 0, 4]]
    assert np.array_equal(bands[:, ::-1], release.counts)


def test_deviations_lie_beside_it_band_for_band(tmp_path: Path) -> None:
    release = numbered()
    paths = release.export(tmp_path / "a.tif", "geotiff")
    assert [path.name for path in paths] == ["a.tif", "a.deviation.tif"]
    with rasterio.open(paths[0]) as counts, rasterio.open(paths[1]) as deviations:
        assert np.array_equal(deviations.read()[:, ::-1], release.deviation)
        assert deviations.descriptions == counts.descriptions
        assert counts.tags()["meaning"] == "estimated pings in each cell and slice"
        assert deviations.tags()["meaning"] == "one standard deviation of each count"


def test_no_deviations_of_an_older_release_stay_beside_it(tmp_path: Path) -> None:
    numbered().export(tmp_path / "a.tif", "geotiff")
    paths = numbered(deviation=False).export(tmp_path / "a.tif", "geotiff", overwrite=True)
    assert paths == list(tmp_path.iterdir()) == [tmp_path / "a.tif"]


def test_a_large_one_is_cloud_optimised_and_its_overviews_are_averages(tmp_path: Path) -> None:
    release = numbered(2, 600)
    for path in release.export(tmp_path / "a.tif", "geotiff"):
        assert cog_validate(path, strict=True) == (True, [], [])
    with rasterio.open(tmp_path / "a.tif") as file:
        assert file.overviews(1) == [2, 4]
        assert "average count" in file.tags()["overviews"]
        coarse = file.read(2, out_shape=(300, 300))
    blocks = release.counts[1, ::-1].reshape(300, 2, 300, 2).mean(axis=(1, 3))
    np.testing.assert_allclose(coarse, blocks, rtol=1e-5)


def test_an_end_that_found_no_room_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """GDAL says nothing where only the last bytes of a file are missing."""
    release = numbered(deviation=False)
    (path,) = release.export(tmp_path / "a.tif", "geotiff")
    size = path.stat().st_size

    def copy_with_too_little_room(*arguments: object, **options: object) -> None:
        with files_of_at_most(size - 40):
            copy(*arguments, **options)

    monkeypatch.setattr(geotiff, "copy", copy_with_too_little_room)
    with pytest.raises(InvalidExport, match=r"could not be written"):
        release.export(tmp_path / "b.tif", "geotiff")
    assert list(tmp_path.iterdir()) == [path]


def test_a_part_lies_where_its_cells_lie(tmp_path: Path) -> None:
    release = numbered()
    release.export(tmp_path / "a.tif", "geotiff", box=Box(29.63, -95.63, 29.7, -95.4))
    with rasterio.open(tmp_path / "a.tif") as file:
        assert tuple(file.bounds) == pytest.approx((-95.64, 29.62, -95.32, 29.74))
        assert np.array_equal(file.read(1), release.counts[0, 1:2, 1:3])
