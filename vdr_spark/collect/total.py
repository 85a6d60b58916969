"""N, the number of all pings, where it is not public: counted with each user's share limited, and noise of its own.

It is a draw like that of the cells: a tensor of one cell, in which every user adds at most `most_per_user` pings,
with discrete Laplace noise of scale most_per_user / epsilon. It is booked on a line of its own, stored before it is
used, and drawn once; releases of the same pings at the same price share it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import DataFrame, SparkSession

from vdr_spark.arrays import Integers
from vdr_spark.collect.bounding import Counts, SampleKey
from vdr_spark.collect.counting import count_bounded
from vdr_spark.collect.locate import Located
from vdr_spark.collect.noisy_slices import add_noise, is_stored, store_noisy_slices
from vdr_spark.collect.sorting import Codes, Hashes, PackedPings
from vdr_spark.collect.source import Source
from vdr_spark.config import Draw, ReleaseConfig
from vdr_spark.privacy.discrete_laplace import DiscreteLaplace
from vdr_spark.storage.tables import NOISY_SLICES, read_part
from vdr_spark.storage.workspace import Workspace


@dataclass(frozen=True)
class Clip:
    """A bounding that counts: all pings of a user, at most `most`, into cell 0. Packed pings are numbers of pings."""

    most: int

    def pack(self, pings: Located, user_hash: Hashes) -> PackedPings:  # noqa: ARG002  part of the protocol
        return np.ones(len(pings), dtype=np.uint64)

    def prune(self, sizes: Integers, packed: PackedPings) -> tuple[Integers, PackedPings]:  # noqa: ARG002  all are ones
        return np.ones_like(sizes), sizes.astype(np.uint64)

    def count_cells(self, users: int, code: Codes, packed: PackedPings) -> Counts:
        # Floating-point sums of whole numbers below 2**53: exact.
        pings = np.bincount(code, weights=packed.astype(np.float64), minlength=users).astype(np.int64)
        return np.zeros(1, dtype=np.int64), np.array([np.minimum(pings, self.most).sum()])


def workspace_of_draw(config: ReleaseConfig, draw: Draw) -> Workspace:
    """Where the numbers of a draw lie: the cells', or those of N."""
    return replace(Workspace.of(config), draw_id=draw.draw_id)


def settled(spark: SparkSession, config: ReleaseConfig) -> ReleaseConfig:
    """The configuration with its N, where that was estimated; as it is where N is declared or not drawn yet."""
    if config.privacy.total_is_known:
        return config
    workspace = workspace_of_draw(config, config.draws[0])
    if not is_stored(spark, workspace, layers=1):
        return config
    rows = read_part(spark, workspace.table(NOISY_SLICES.name), NOISY_SLICES, workspace.draw_id)
    assert rows is not None
    noisy = rows.select("values").collect()[0][0][0]
    return config.with_total(max(1, noisy))


def store_total(source: Source, config: ReleaseConfig, partitions: int) -> None:
    """Draw N and store it. The caller has booked it, and asks only where it is not stored."""
    noisy = _noisy_total(source, config, partitions)
    store_noisy_slices(noisy, workspace_of_draw(config, config.draws[0]), unit=1, protected=config.privacy.protected)


def _noisy_total(source: Source, config: ReleaseConfig, partitions: int) -> DataFrame:
    estimate, seed = config.privacy.estimate_total, config.privacy.test_seed
    assert estimate is not None
    key = SampleKey.generate() if seed is None else SampleKey.seeded(seed)
    packed = count_bounded(source, config.grids, Clip(estimate.most_per_user), key, partitions)
    mechanism = DiscreteLaplace(estimate.most_per_user / config.privacy.total_epsilon)
    other = None if seed is None else seed + 1  # the noise of N is not that of a slice
    return add_noise(packed, layers=1, cells_per_layer=1, mechanism=mechanism, partitions=partitions, seed=other)
