"""The public domain of a release: a box, a period, and the cells they are cut into.

Everything here comes from the configuration and nothing from the data, so it may be printed anywhere.
A cell is `(slice, y, x)`: time first, then rows from south to north, then columns from west to east.
All intervals are half open: a ping on the northern edge, or at the end of the period, is outside.
The same arithmetic exists twice, here as NumPy and in `vdr_spark.spark.grid_columns` as Spark columns, and gives the
same cell to the last bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

METRES_PER_DEGREE = 111_194.93  # of latitude, on a sphere of radius 6,371 km


@dataclass(frozen=True)
class Box:
    """A latitude-longitude rectangle, in degrees."""

    south: float
    west: float
    north: float
    east: float

    @classmethod
    def around(cls, lat: float, lon: float, side_m: float) -> Box:
        """The square of `side_m` metres centred on a point."""
        half_lat = side_m / 2 / METRES_PER_DEGREE
        half_lon = half_lat / math.cos(math.radians(lat))
        return cls(lat - half_lat, lon - half_lon, lat + half_lat, lon + half_lon)

    @property
    def centre(self) -> tuple[float, float]:
        """Latitude and longitude of the middle."""
        return (self.south + self.north) / 2, (self.west + self.east) / 2

    @property
    def side_metres(self) -> tuple[float, float]:
        """Height and width in metres, at the middle latitude."""
        middle = math.radians((self.south + self.north) / 2)
        return (
            (self.north - self.south) * METRES_PER_DEGREE,
            (self.east - self.west) * METRES_PER_DEGREE * math.cos(middle),
        )

    def overlaps(self, other: Box) -> bool:
        """Whether some point lies in both. Edges may touch: northern and eastern ones are outside."""
        beside = self.east <= other.west or other.east <= self.west
        return not (beside or self.north <= other.south or other.north <= self.south)


@dataclass(frozen=True)
class Grid:
    """`cells_per_side` x `cells_per_side` x `slices` over a box and a period that starts at `start` (UTC)."""

    box: Box
    cells_per_side: int
    start: datetime
    slice_seconds: int
    slices: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """(T, M, M)."""
        return self.slices, self.cells_per_side, self.cells_per_side

    @property
    def size(self) -> int:
        """m, the number of cells that get noise."""
        return self.slices * self.cells_per_side**2

    @property
    def end(self) -> datetime:
        return self.start + timedelta(seconds=self.slice_seconds * self.slices)

    @property
    def slices_per_day(self) -> float:
        return 86_400 / self.slice_seconds

    @property
    def cell_metres(self) -> tuple[float, float]:
        """Height and width of a cell in metres, at the box's middle latitude."""
        middle = math.radians((self.box.south + self.box.north) / 2)
        height = (self.box.north - self.box.south) / self.cells_per_side * METRES_PER_DEGREE
        width = (self.box.east - self.box.west) / self.cells_per_side * METRES_PER_DEGREE * math.cos(middle)
        return height, width

    # Factors that both versions of the arithmetic share (`vdr_spark.spark.grid_columns`), so that they round alike.

    @property
    def cells_per_lat(self) -> float:
        return self.cells_per_side / (self.box.north - self.box.south)

    @property
    def cells_per_lon(self) -> float:
        return self.cells_per_side / (self.box.east - self.box.west)

    @property
    def start_us(self) -> int:
        return round(self.start.timestamp() * 1_000_000)

    @property
    def end_us(self) -> int:
        return self.start_us + self.slice_seconds * self.slices * 1_000_000

    def cell_of(
        self, lat: NDArray[np.float64], lon: NDArray[np.float64], ts_us: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Flat cell number `(slice * M + y) * M + x` of each ping, -1 where it lies outside.

        `ts_us` counts microseconds since 1970 (UTC). NaN and infinite coordinates lie outside.
        """
        box, last = self.box, self.cells_per_side - 1
        t = (ts_us - self.start_us) // (self.slice_seconds * 1_000_000)
        inside = (lat >= box.south) & (lat < box.north) & (lon >= box.west) & (lon < box.east)
        inside &= (t >= 0) & (t < self.slices)
        with np.errstate(invalid="ignore"):  # what lies outside may be NaN or too large, and is thrown away
            # A product may round up to the edge: what lies inside the box stays in its last row or column.
            y = np.minimum(((lat - box.south) * self.cells_per_lat).astype(np.int64), last)
            x = np.minimum(((lon - box.west) * self.cells_per_lon).astype(np.int64), last)
        flat: NDArray[np.int64] = (t * self.cells_per_side + y) * self.cells_per_side + x
        flat[~inside] = -1
        return flat

    def row_of(self, lat: float) -> int:
        """The row y that holds a latitude; may lie outside the grid."""
        return math.floor((lat - self.box.south) * self.cells_per_lat)

    def column_of(self, lon: float) -> int:
        """The column x that holds a longitude; may lie outside the grid."""
        return math.floor((lon - self.box.west) * self.cells_per_lon)

    def slice_of(self, moment: datetime) -> int:
        """The slice that holds a moment; may lie outside the period."""
        return math.floor((moment - self.start).total_seconds() / self.slice_seconds)

    def latitudes(self) -> NDArray[np.float64]:
        """Latitude of the centre of every row. (M,)"""
        return self.box.south + (np.arange(self.cells_per_side, dtype=np.float64) + 0.5) / self.cells_per_lat

    def longitudes(self) -> NDArray[np.float64]:
        """Longitude of the centre of every column. (M,)"""
        return self.box.west + (np.arange(self.cells_per_side, dtype=np.float64) + 0.5) / self.cells_per_lon

    def slice_start(self, number: int) -> datetime:
        """When a slice begins (UTC)."""
        return (self.start + timedelta(seconds=self.slice_seconds * number)).astimezone(UTC)
