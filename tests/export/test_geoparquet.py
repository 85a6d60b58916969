"""GeoParquet, as geopandas reads it."""

import json
from pathlib import Path

import geopandas as gpd
import numpy as np
import pyarrow.parquet as pq
import pytest

from tests.export.releases import BOX, numbered
from vdr_spark.grid import Box


def test_geopandas_reads_every_cell_where_it_lies(tmp_path: Path) -> None:
    release = numbered()
    release.export(tmp_path / "a.parquet", "geoparquet")
    frame = gpd.read_parquet(tmp_path / "a.parquet")
    assert frame.crs.to_string() == "OGC:CRS84"
    assert frame.geom_type.unique().tolist() == ["Polygon"]
    assert frame.geometry.is_valid.all()
    assert frame.geometry.exterior.is_ccw.all()
    expected = release.to_pandas()
    for name in ("slice", "slice_start", "y", "x", "count", "deviation"):
        assert (frame[name] == expected[name]).all(), name
    edges = frame.geometry.bounds
    np.testing.assert_allclose((edges["minx"] + edges["maxx"]) / 2, expected["lon"], atol=1e-9)
    np.testing.assert_allclose((edges["miny"] + edges["maxy"]) / 2, expected["lat"], atol=1e-9)
    assert frame["count"].to_numpy().sum() == release.counts.ravel().sum()
    assert frame["count"].dtype == np.float32


def test_the_first_and_the_last_cell_reach_the_edges_and_neighbours_share_theirs(tmp_path: Path) -> None:
    numbered().export(tmp_path / "a.parquet", "geoparquet")
    frame = gpd.read_parquet(tmp_path / "a.parquet")
    south_west, north_east = frame.geometry.iloc[0].bounds, frame.geometry.iloc[-1].bounds
    assert south_west[:2] == (BOX.west, BOX.south)
    assert south_west[2:] == pytest.approx((BOX.west + 0.16, BOX.south + 0.12))
    assert north_east[2:] == (BOX.east, BOX.north)
    first = frame[frame["slice"] == 0]
    bounds = first.geometry.bounds.set_index([first["y"], first["x"]])
    assert bounds.loc[(2, 1), "maxx"] == bounds.loc[(2, 2), "minx"]
    assert bounds.loc[(2, 1), "maxy"] == bounds.loc[(3, 1), "miny"]
    assert first.geometry.union_all().area == pytest.approx(0.8 * 0.6)


def test_centres_are_points(tmp_path: Path) -> None:
    release = numbered(deviation=False)
    release.export(tmp_path / "a.geoparquet", "geoparquet", geometry="centre")
    frame = gpd.read_parquet(tmp_path / "a.geoparquet")
    np.testing.assert_allclose(frame.geometry.x, release.to_pandas()["lon"], atol=1e-9)
    np.testing.assert_allclose(frame.geometry.y, release.to_pandas()["lat"], atol=1e-9)
    assert frame["deviation"].isna().all()


def test_a_part_keeps_its_numbers_and_says_its_bounds(tmp_path: Path) -> None:
    numbered().export(tmp_path / "a.parquet", "geoparquet", box=Box(29.63, -95.63, 29.7, -95.4))
    frame = gpd.read_parquet(tmp_path / "a.parquet")
    assert set(frame["y"]) == {1}
    assert set(frame["x"]) == {1, 2}
    assert frame.total_bounds == pytest.approx([-95.64, 29.62, -95.32, 29.74])
    geo = json.loads(pq.read_metadata(tmp_path / "a.parquet").metadata[b"geo"])
    assert geo["version"] == "1.1.0"
    assert geo["columns"]["geometry"]["bbox"] == pytest.approx(frame.total_bounds.tolist())


def test_readers_prune_by_box_and_slice(tmp_path: Path) -> None:
    """A tile of a slice is a row group whose statistics say where it lies."""
    release = numbered(2, 200)
    release.export(tmp_path / "a.parquet", "geoparquet")
    metadata = pq.read_metadata(tmp_path / "a.parquet")
    assert metadata.num_row_groups == 2 * 4
    group = metadata.row_group(0)
    places = {group.column(number).path_in_schema: number for number in range(group.num_columns)}
    tops = [metadata.row_group(g).column(places["bbox.ymin"]).statistics.min for g in range(8)]
    assert tops[0] == BOX.south
    assert tops[2] == pytest.approx(BOX.south + 192 * 0.003)
    assert metadata.row_group(7).column(places["slice"]).statistics.min == 1
    corner = gpd.read_parquet(tmp_path / "a.parquet", bbox=(-95.01, 30.095, -95.0, 30.1))
    assert 0 < len(corner) < 40
    assert corner["y"].min() >= 197
