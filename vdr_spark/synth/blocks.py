"""Blocks of made-up people and their pings: what Spark's Python workers run.

Block i is sampled from a generator seeded by (seed, i) alone, so the pings are the same however Spark cuts the work
and however often it repeats a task. Workers import this, so it takes plain values, not the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from vdr_spark.grid import Grid
from vdr_spark.synth.mixture import Mixture
from vdr_spark.synth.people import Town
from vdr_spark.synth.pings import Pings
from vdr_spark.synth.power_law import PowerLaw

_ROWS_PER_BATCH = 50_000
_Sampler = Callable[[np.random.Generator, int], Pings]


@dataclass(frozen=True)
class Population:
    """Everything that decides whose pings are where, but for the grid."""

    kind: str  # city, or mixture
    seed: int
    law: PowerLaw
    components: int  # of the mixture
    weights: str
    sigma_cells: float


def sample_block(population: Population, grid: Grid, block: int, users: int) -> Pings:
    """Sample the pings of one block of people, by time."""
    rng = np.random.Generator(np.random.PCG64([population.seed, block]))
    return _plan_sampler(population, grid)(rng, users).by_time()


@lru_cache(maxsize=4)
def _plan_sampler(population: Population, grid: Grid) -> _Sampler:
    """Plan what samples a block, once per Python worker."""
    law = population.law
    if population.kind == "city":
        town = Town.of(population.seed, grid)
        return lambda rng, users: town.sample_block(rng, users, law)
    mixture = Mixture.plan(population.seed, population.components, population.weights, population.sigma_cells, grid)
    return lambda rng, users: mixture.sample_block(rng, users, law, grid)


def to_batches(pings: Pings, first_user: int) -> Iterator[pa.RecordBatch]:
    """Cut a block into small Arrow batches `user_id, lat, lon, ts`, its users numbered from `first_user`."""
    for begin in range(0, len(pings), _ROWS_PER_BATCH):
        rows = slice(begin, begin + _ROWS_PER_BATCH)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(pings.user[rows] + first_user),
                pa.array(pings.lat[rows]),
                pa.array(pings.lon[rows]),
                pa.array(pings.ts_us[rows], pa.timestamp("us", "UTC")),
            ],
            names=["user_id", "lat", "lon", "ts"],
        )
