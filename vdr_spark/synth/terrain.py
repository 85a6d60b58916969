"""Where on the ground a city is built: rasters of what is land, what is park, and how districts differ."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats, Mask
from vdr_spark.synth.ground import Ground

_RASTER = 320  # cells along a side
_MARGIN = 1.2  # the plan reaches beyond the box, whose corners are turned
_PARKS = 9


@dataclass(frozen=True)
class Density:
    """Something spread over the plan, to be sampled."""

    edge_u: Floats  # of the raster's columns. (_RASTER + 1,)
    edge_v: Floats  # of its rows, from south to north. (_RASTER + 1,)
    cumulated: Floats  # flat, ends in 1. (_RASTER ** 2,)

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Sample points with this density. (size, 2)"""
        cell = np.searchsorted(self.cumulated, rng.random(size), side="right")
        row, column = np.divmod(np.minimum(cell, len(self.cumulated) - 1), _RASTER)
        within = rng.random((size, 2)) * [self.edge_u[1] - self.edge_u[0], self.edge_v[1] - self.edge_v[0]]
        points: Floats = np.stack([self.edge_u[column], self.edge_v[row]], axis=1) + within
        return points


class Terrain:
    """Rasters of (_RASTER, _RASTER), from south to north. Distances are shares of the way to the edge."""

    def __init__(self, rng: np.random.Generator, ground: Ground) -> None:
        self.ground = ground
        self.edges = [np.linspace(-side * _MARGIN, side * _MARGIN, _RASTER + 1) for side in ground.half]
        middles = [edge[:-1] + np.diff(edge) / 2 for edge in self.edges]
        self.u, self.v = np.meshgrid(*middles)
        self.from_downtown = self.distance(ground.downtown)
        self.district = np.exp(0.55 * _hills(rng, 12) + 0.45 * _hills(rng, 34))
        outskirts = 1 / (1 + np.exp((self.from_downtown - 1.0 - 0.22 * _hills(rng, 6)) / 0.035))
        fallow = (_hills(rng, 16) < -1.4) & (self.from_downtown > 0.25)
        self.built = outskirts * (self._dry() & self._inside() & ~self._parks(rng) & ~fallow)

    def distance(self, centre: Floats) -> Floats:
        half = self.ground.half
        scaled: Floats = np.hypot((self.u - centre[0]) / half[0], (self.v - centre[1]) / half[1])
        return scaled

    def falling(self, width: float) -> Floats:
        """1 downtown, and less and less outwards."""
        values: Floats = np.exp(-self.from_downtown / width)
        return values

    def bumps(self, centres: Floats, weights: Floats, width: float) -> Floats:
        """A round hill on every centre."""
        heap = np.zeros(self.u.shape)
        for centre, weight in zip(centres, weights, strict=True):
            heap += weight * np.exp(-((self.distance(centre) / width) ** 2))
        return heap

    def density(self, values: Floats) -> Density:
        """The values, where the city is built."""
        weight = (values * self.built).ravel()
        return Density(self.edges[0], self.edges[1], np.cumsum(weight) / weight.sum())

    def _dry(self) -> Mask:
        away: Floats = np.abs(self.v - self.ground.river_at(self.u))
        return away > 0.62 * self.ground.river_width

    def _inside(self) -> Mask:
        x, y = self.ground.bent(np.stack([self.u.ravel(), self.v.ravel()], axis=1))
        limit = 0.985 * self.ground.half
        inside: Mask = (np.abs(x) < limit[0]) & (np.abs(y) < limit[1])
        return inside.reshape(self.u.shape)

    def _parks(self, rng: np.random.Generator) -> Mask:
        ragged = 1 + 0.25 * _hills(rng, 24)
        green = np.zeros(self.u.shape, bool)
        for number in range(_PARKS):
            distance = 0.17 if number == 0 else rng.uniform(0.25, 0.9)  # one is the park next to downtown
            centre = self.ground.downtown + distance * self.ground.half * direction(rng.uniform(0, 6.3))
            width, height = rng.uniform(0.03, 0.075) * np.array([rng.uniform(0.6, 1.6), 1])
            du = (self.u - centre[0]) / (width * self.ground.half[0])
            dv = (self.v - centre[1]) / (height * self.ground.half[1])
            green |= np.hypot(du, dv) < ragged
        return green


def direction(angle: float) -> Floats:
    """The unit vector at an angle. (2,)"""
    return np.array([math.cos(angle), math.sin(angle)])


def _hills(rng: np.random.Generator, across: int) -> Floats:
    """Smooth random hills, so many from edge to edge, of mean 0 and deviation 1. (_RASTER, _RASTER)"""
    peaks = rng.standard_normal((across + 2, across + 2))
    along = np.linspace(0.5, across + 0.499, _RASTER)
    low = along.astype(np.int64)
    part = (along - low) ** 2 * (3 - 2 * (along - low))
    rows = peaks[low] * (1 - part)[:, None] + peaks[low + 1] * part[:, None]
    hills = rows[:, low] * (1 - part) + rows[:, low + 1] * part
    normal: Floats = (hills - hills.mean()) / hills.std()
    return normal
