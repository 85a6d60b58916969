"""Thousands of runs on two neighbouring data sets in one collect job.

A whole job takes seconds, and an audit needs thousands of outputs. So the grid is cut into *districts*: the column of
cells that one pixel has through the slices. Each has users of its own, and in a random half of the districts the user
in question is there too. Bounding looks at one user's pings at a time, counts add up cell by cell and noise is
independent from cell to cell, so each district of a job is one run of collect on a domain of that district alone.
That independence is the code's claim, not a law: what may happen between districts is left to `test_literal.py`, which
repeats whole jobs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tests.plans import collect, grid_of, noisy_files
from tests.statistical.audit import Outputs
from vdr_spark.config import ReleaseConfig
from vdr_spark.grid import Grid
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS, decode_slices

SLICES = 4
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Scenario:
    """One user, as the slice of each ping, and others who are in the district with or without that user."""

    name: str
    pings: tuple[int, ...]
    others: tuple[tuple[int, ...], ...] = ()

    def contribution(self, k: int, unit: int) -> Integers:
        """What the user adds to the slices on average, in units. (slices,)"""
        each = min(1.0, k / len(self.pings)) * unit
        return np.rint(np.bincount(self.pings, minlength=SLICES) * each).astype(np.int64)

    def contribution_by_norm(self, norm: int, unit: int) -> Integers:
        """The same where the L2 norm of what the user adds is bounded. (slices,)"""
        pings = np.bincount(self.pings, minlength=SLICES)
        return np.rint(pings * min(1.0, norm / float(np.linalg.norm(pings))) * unit).astype(np.int64)


def scenarios(k: int) -> list[Scenario]:
    """Of the issue, for k up to the number of slices."""
    far_above = tuple(ping % SLICES for ping in range(5 * k))
    return [
        Scenario("k pings in one cell", (0,) * k),
        Scenario("k pings in k cells", tuple(range(k))),
        Scenario("5k pings in one cell", (0,) * (5 * k)),
        Scenario("5k pings in all cells", far_above),
        Scenario("5k pings among others'", far_above, others=((0,) * 3 * k, (0, 1, 2, 3))),
    ]


def run_in_districts(
    spark: SparkSession, config: ReleaseConfig, chosen: Sequence[Scenario]
) -> dict[str, tuple[Outputs, Outputs]]:
    """One collect job: outputs with the user and without, one row a district, for each scenario."""
    pixels = grid_of(config).cells_per_side ** 2
    shuffled = np.random.default_rng().permutation(pixels)
    parts = [np.array_split(part, 2) for part in np.array_split(shuffled, len(chosen))]
    pings = []
    for scenario, (present, absent) in zip(chosen, parts, strict=True):
        pings.append(_pings(present, scenario.pings, first_user=0, pixels=pixels))
        for number, other in enumerate(scenario.others, start=1):
            everywhere = np.concatenate([present, absent])
            pings.append(_pings(everywhere, other, first_user=number * pixels, pixels=pixels))
    users, cells = (np.concatenate(column) for column in zip(*pings, strict=True))
    write_pings(config.input.path, grid_of(config), users, cells)
    collect(spark, config)
    columns = stored_values(spark, config).reshape(SLICES, pixels).T
    return {
        scenario.name: (columns[present], columns[absent])
        for scenario, (present, absent) in zip(chosen, parts, strict=True)
    }


def write_pings(path: str, grid: Grid, users: Integers, cells: Integers) -> None:
    """One ping in the middle of a cell for each user and cell, at different seconds of its slice."""
    slice_, row, column = np.unravel_index(cells, grid.shape)
    seconds = slice_ * grid.slice_seconds + np.arange(len(cells)) % grid.slice_seconds
    times = pd.Timestamp(grid.start) + pd.to_timedelta(seconds, unit="s")
    places = {"lat": grid.latitudes()[row], "lon": grid.longitudes()[column]}
    Path(path).mkdir(parents=True, exist_ok=True)
    pd.DataFrame({"user_id": users, **places, "ts": times}).to_parquet(f"{path}/part.parquet", coerce_timestamps="us")


def stored_values(spark: SparkSession, config: ReleaseConfig) -> Integers:
    """The noisy tensor in its own integers: the largest noise would not survive `read_region`'s float32. (S, M*M)"""
    files = noisy_files(spark, config)
    # Not by folders: Delta 4.4 keeps the column that they are named after in the files too, and pyarrow sees two of it.
    stored = pq.ParquetDataset([file.removeprefix("file:") for file in files], partitioning=None)
    table = stored.read(columns=list(SLICE_COLUMNS)).sort_by("slice")
    return np.array([counts for batch in table.to_batches() for counts in decode_slices(batch)])


def _pings(places: Integers, slices: Sequence[int], first_user: int, pixels: int) -> tuple[Integers, Integers]:
    """Users and cells of one user's pings in each of these pixels."""
    cells = places[:, None] + np.array(slices) * pixels
    return np.repeat(first_user + places, len(slices)), cells.ravel()
