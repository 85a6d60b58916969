"""The ground a city stands on: the box in metres, downtown's place, a river, and how the plan is bent.

Plans are drawn straight: u to the east, v to the north, in metres, the box's middle at 0. `to_world` turns
and bends them a little, because real cities are not drawn with a ruler.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.grid import METRES_PER_DEGREE, Box


@dataclass(frozen=True)
class Wave:
    """A sine, in metres."""

    height: float
    length: float
    phase: float

    def __call__(self, along: Floats) -> Floats:
        heights: Floats = self.height * np.sin(along / self.length + self.phase)
        return heights


@dataclass(frozen=True)
class Ground:
    """Points are (n, 2) arrays of u, v in metres."""

    lat: float  # of the box's middle
    lon: float
    half: Floats  # half the box's width and height in metres. (2,)
    turn: float  # radians
    bends: tuple[Wave, Wave]  # of x along v, of y along u
    downtown: Floats  # (2,)
    river_line: tuple[float, float]  # v at u = 0, and slope
    meanders: tuple[Wave, Wave]
    river_width: float

    @classmethod
    def plan(cls, rng: np.random.Generator, box: Box) -> Ground:
        lat, lon = (box.south + box.north) / 2, (box.west + box.east) / 2
        height = (box.north - box.south) * METRES_PER_DEGREE
        width = (box.east - box.west) * METRES_PER_DEGREE * math.cos(math.radians(lat))
        half = np.array([width, height]) / 2
        reach = float(half.min())
        downtown = rng.uniform(-0.08, 0.08, 2) * half
        passes = float(downtown[1] + rng.choice([-1, 1]) * rng.uniform(0.1, 0.16) * reach)
        return cls(
            lat=lat,
            lon=lon,
            half=half,
            turn=math.radians(rng.uniform(7, 16) * rng.choice([-1, 1])),
            bends=(_wave(rng, 0.016 * reach, 1.2 * reach), _wave(rng, 0.016 * reach, reach)),
            downtown=downtown,
            river_line=(passes, rng.uniform(-0.25, 0.25)),
            meanders=(_wave(rng, 0.11 * reach, 0.38 * reach), _wave(rng, 0.035 * reach, 0.12 * reach)),
            river_width=min(reach / 50, 260.0),
        )

    @property
    def reach(self) -> float:
        """Metres from the middle of the box to its nearer edges."""
        return float(self.half.min())

    def river_at(self, u: Floats) -> Floats:
        """v of the middle of the river."""
        at, slope = self.river_line
        return at + slope * u + self.meanders[0](u) + self.meanders[1](u)

    def bent(self, points: Floats) -> tuple[Floats, Floats]:
        """Metres to the east and to the north of the box's middle."""
        u, v = points[:, 0], points[:, 1]
        x = math.cos(self.turn) * u - math.sin(self.turn) * v + self.bends[0](v)
        return x, math.sin(self.turn) * u + math.cos(self.turn) * v + self.bends[1](u)

    def to_world(self, points: Floats) -> tuple[Floats, Floats]:
        """Latitude and longitude of points of the plan."""
        x, y = self.bent(points)
        per_degree_of_longitude = METRES_PER_DEGREE * math.cos(math.radians(self.lat))
        return self.lat + y / METRES_PER_DEGREE, self.lon + x / per_degree_of_longitude


def _wave(rng: np.random.Generator, height: float, length: float) -> Wave:
    return Wave(height, length, rng.uniform(0, 2 * math.pi))
