"""How adversarial pings are written and counted. Noise is off, so that every bounded count can be checked exactly."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pyspark.sql import SparkSession

from tests.plans import collect, grid_of
from tests.plans import stored_noise as stored
from vdr_spark.collect.bounding import SampleKey, build_bounding
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.collect.source import open_source
from vdr_spark.config import ReleaseConfig
from vdr_spark.grid import Grid
from vdr_spark.pings.readers import WHILE_READING
from vdr_spark.plan import make_plan
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import to_arrow

Small = Callable[..., ReleaseConfig]
K = 5
# So large an epsilon that the noise is zero, in units of a weight too.
NO_NOISE = ("privacy.epsilon=1e13", "privacy.accept_weak_promise=true", "privacy.budget=1e15", f"privacy.k={K}")
BOUNDINGS = ("sample", "weight")
READERS = ("direct", "spark")


def places(grid: Grid, cells: Sequence[int] | NDArray[np.int64]) -> dict[str, pa.Array]:
    """Degrees and times in the middle of flat cells."""
    t, y, x = np.unravel_index(np.asarray(cells, dtype=np.int64), grid.shape)
    us = round(grid.start.timestamp() * 1e6) + (t * grid.slice_seconds + grid.slice_seconds // 2) * 1_000_000
    times = pa.array(us).cast(pa.timestamp("us", "UTC"))
    return {"lat": pa.array(grid.latitudes()[y]), "lon": pa.array(grid.longitudes()[x]), "ts": times}


def write(config: ReleaseConfig, name: str = "part", **columns: pa.Array) -> None:
    """A Parquet file of pings at the configuration's `input.path`."""
    Path(config.input.path).mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), f"{config.input.path}/{name}.parquet")


def collected(spark: SparkSession, config: ReleaseConfig) -> NDArray[np.float64]:
    """What the whole stage stores, flat."""
    assert collect(spark, config)
    return stored(spark, config).reshape(-1).astype(np.float64)


def counted(spark: SparkSession, config: ReleaseConfig) -> NDArray[np.float64]:
    """What the stage's tasks count, flat, without the ledger and the table: these take longer than the rest."""
    grid, key = grid_of(config), SampleKey.generate()
    source = open_source(spark, config.input, make_plan(config).grids)
    bounding = build_bounding(config.privacy.bounding, config.privacy.bound(0), grid.size, key)
    with settings_of_spark(spark, WHILE_READING):
        packed = to_arrow(count_bounded(source, make_plan(config).grids, bounding, key, 2))
    layers = sum_packed(packed.to_batches(), grid.cells_per_side**2)
    counts = np.zeros((grid.slices, grid.cells_per_side**2))
    for layer, values in layers.items():
        counts[layer] = values / config.privacy.units_per_ping
    return counts.reshape(-1)
