"""A grid's arithmetic as Spark columns: the same cell as `Grid.cell_of` gives, to the last bit."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F

from vdr_spark.grid import Grid


def cell_column(grid: Grid, lat: Column, lon: Column, ts: Column) -> Column:
    """Return the flat cell number of each ping, by a timestamp column; null where a ping lies outside."""
    box, last, side = grid.box, F.lit(grid.cells_per_side - 1), F.lit(grid.cells_per_side)
    t = F.floor((F.unix_micros(ts) - F.lit(grid.start_us)) / F.lit(grid.slice_seconds * 1_000_000))
    y = F.least(F.floor((lat - F.lit(box.south)) * F.lit(grid.cells_per_lat)), last)
    x = F.least(F.floor((lon - F.lit(box.west)) * F.lit(grid.cells_per_lon)), last)
    return F.when(inside_column(grid, lat, lon, ts), (t * side + y) * side + x)


def inside_column(grid: Grid, lat: Column, lon: Column, ts: Column) -> Column:
    """Return whether a ping lies in box and period, as comparisons that Spark can push down to the files."""
    return in_box_column(grid, lat, lon) & in_period_column(grid, ts)


def in_box_column(grid: Grid, lat: Column, lon: Column) -> Column:
    """Return whether a place lies in the grid's box."""
    box = grid.box
    # Spark orders NaN above every number, so it is outside too.
    inside = (lat >= F.lit(box.south)) & (lat < F.lit(box.north))
    return inside & (lon >= F.lit(box.west)) & (lon < F.lit(box.east))


def in_period_column(grid: Grid, ts: Column) -> Column:
    """Return whether a moment lies in the grid's period."""
    # Instants, not local times: a literal of a Python datetime would go through the session's zone.
    start, end = (F.timestamp_micros(F.lit(us)) for us in (grid.start_us, grid.end_us))
    return (ts >= start) & (ts < end)
