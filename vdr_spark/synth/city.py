"""The plan of a city that nobody lives in: where homes, jobs and places of interest are.

A downtown with seven sub-centres around it, homes that thin out towards ragged edges, a stadium, an airport
far out. The plan depends on the seed and on the box only, and is the same wherever it is made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vdr_spark.arrays import Floats
from vdr_spark.grid import Box
from vdr_spark.synth.ground import Ground
from vdr_spark.synth.terrain import Density, Terrain, direction

_SUB_CENTRES = 7
_PLACES_PER_KM2 = 10


@dataclass(frozen=True)
class Places:
    """Places to go to, the most popular first."""

    at: Floats  # (n, 2)
    spread: Floats  # metres within which visitors are found. (n,)
    cumulated: Floats  # popularity summed up, ends in 1. (n,)


@dataclass(frozen=True)
class City:
    ground: Ground
    homes: Density
    jobs: Density
    leisure: Places
    stadium: Floats  # (2,)
    airport: Floats  # (2,)


def plan_city(seed: int, box: Box) -> City:
    """The city of a seed in a box."""
    rng = np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,))))
    ground = Ground.plan(rng, box)
    terrain = Terrain(rng, ground)
    centres, weights = _centres(rng, ground)
    shops = terrain.bumps(centres, weights, 0.07) + 0.16 * terrain.falling(0.5) * terrain.district
    return City(
        ground=ground,
        homes=terrain.density(_homes(terrain, centres, weights)),
        jobs=terrain.density(terrain.bumps(centres, weights, 0.055) + 0.025 * terrain.falling(0.6) * terrain.district),
        leisure=_places(rng, terrain.density(shops), ground),
        stadium=ground.downtown + rng.uniform(0.12, 0.2) * ground.half * direction(rng.uniform(0, 6.3)),
        airport=_airport(rng, ground),
    )


def _centres(rng: np.random.Generator, ground: Ground) -> tuple[Floats, Floats]:
    """Downtown and its sub-centres, the farther the smaller. (n, 2), (n,)"""
    angles = rng.uniform(0, 6.3) + np.arange(_SUB_CENTRES) * 2 * math.pi / _SUB_CENTRES
    angles += rng.uniform(-0.3, 0.3, _SUB_CENTRES)
    distances = rng.uniform(0.3, 0.78, _SUB_CENTRES)
    around = np.stack([np.cos(angles), np.sin(angles)], axis=1) * distances[:, None]
    weights = rng.uniform(0.2, 0.45, _SUB_CENTRES) * (1.15 - distances)
    return np.vstack([ground.downtown, ground.downtown + around * ground.half]), np.append(1.8, weights)


def _homes(terrain: Terrain, centres: Floats, weights: Floats) -> Floats:
    """Fewer from downtown outwards, more around sub-centres, not many in downtown's office blocks."""
    offices = np.exp(-((terrain.from_downtown / 0.1) ** 2))
    around = 0.5 * terrain.bumps(centres[1:], weights[1:], 0.12)
    homes: Floats = (terrain.falling(0.32) * (1 - 0.6 * offices) + around) * terrain.district
    return homes


def _places(rng: np.random.Generator, shops: Density, ground: Ground) -> Places:
    """Places with Zipf's popularity, some of them large."""
    square_km = 4 * float(ground.half.prod()) / 1e6
    number = int(np.clip(_PLACES_PER_KM2 * square_km, 200, 20_000))
    popularity = 1 / (np.arange(number) + 3.0)
    spread = 12 + 60 * rng.random(number) ** 3
    return Places(shops.sample(rng, number), spread, np.cumsum(popularity / popularity.sum()))


def _airport(rng: np.random.Generator, ground: Ground) -> Floats:
    """Near the edge, between the main directions."""
    quarter = rng.integers(4) * math.pi / 2 + math.pi / 4
    at: Floats = 0.86 * ground.half * direction(quarter + rng.uniform(-0.25, 0.25))
    return at
