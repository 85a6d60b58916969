"""The two versions of the grid's arithmetic agree, and edges belong to one side only."""

from datetime import UTC, datetime

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.grid import Box, Grid
from vdr_spark.spark.grid_columns import cell_column

GRID = Grid(Box.around(29.7604, -95.3698, 20_000), 18, datetime(2020, 1, 7, 6, tzinfo=UTC), 10_800, 5)
START = int(GRID.start.timestamp() * 1e6)
END = int(GRID.end.timestamp() * 1e6)


def one(lat: float, lon: float, ts: int) -> int:
    return int(GRID.cell_of(np.array([lat]), np.array([lon]), np.array([ts]))[0])


def test_spark_and_numpy_give_the_same_cell(spark: SparkSession) -> None:
    rng = np.random.default_rng(0)
    n = 20_000
    lat = rng.uniform(GRID.box.south - 0.01, GRID.box.north + 0.01, n)
    lon = rng.uniform(GRID.box.west - 0.01, GRID.box.east + 0.01, n)
    ts = rng.integers(START - 10**9, END + 10**9, n)
    # Cell edges, box edges, the period's edges, and what is no place at all.
    lat[:18] = GRID.box.south + np.arange(18) * (GRID.box.north - GRID.box.south) / 18
    lat[20:25] = [np.nan, np.inf, -np.inf, GRID.box.north, 1e300]
    lon[25:28] = [np.nan, GRID.box.east, GRID.box.west]
    ts[30:34] = [START, START - 1, END, END - 1]
    frame = spark.createDataFrame(pd.DataFrame({"lat": lat, "lon": lon, "us": ts}))
    cell = cell_column(GRID, F.col("lat"), F.col("lon"), F.timestamp_micros("us"))
    from_spark = frame.select(F.coalesce(cell, F.lit(-1)).alias("cell")).toPandas()["cell"].to_numpy()
    assert (from_spark == GRID.cell_of(lat, lon, ts)).all()
    assert (from_spark >= 0).mean() > 0.5


def test_edges_are_half_open() -> None:
    middle = (GRID.box.south + GRID.box.north) / 2
    assert one(GRID.box.south, GRID.box.west, START) == 0
    assert one(GRID.box.north, GRID.box.west, START) == -1
    assert one(middle, GRID.box.east, START) == -1
    assert one(middle, GRID.box.west, END) == -1
    assert one(middle, GRID.box.west, END - 1) >= 4 * 18 * 18


@given(st.integers(0, GRID.size - 1))
def test_a_cells_centre_lies_in_the_cell(cell: int) -> None:
    t, y, x = (int(axis) for axis in np.unravel_index(cell, GRID.shape))
    lat, lon, start = GRID.latitudes()[y], GRID.longitudes()[x], GRID.slice_start(t)
    assert one(lat, lon, int(start.timestamp() * 1e6)) == cell
    assert (GRID.slice_of(start), GRID.row_of(lat), GRID.column_of(lon)) == (t, y, x)


@given(st.floats(-80, 80), st.floats(-170, 170), st.floats(100, 50_000), st.integers(2, 700))
def test_whatever_is_in_the_box_has_a_cell(lat: float, lon: float, side: float, cells: int) -> None:
    grid = Grid(Box.around(lat, lon, side), cells, GRID.start, 3600, 1)
    box = grid.box
    inside = [box.south, np.nextafter(box.north, -90)], [box.west, np.nextafter(box.east, -180)]
    found = grid.cell_of(np.array(inside[0]), np.array(inside[1]), np.array([START, START]))
    assert found.tolist() == [0, cells**2 - 1]
    edges = grid.cell_of(np.array([box.north, box.south]), np.array([box.west, box.east]), np.array([START, START]))
    assert edges.tolist() == [-1, -1]


def test_cells_are_as_large_as_asked_for() -> None:
    height, width = GRID.cell_metres
    np.testing.assert_allclose([height, width], 20_000 / 18, rtol=1e-3)
