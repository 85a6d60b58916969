"""Noise on every cell: packed counts become noisy slices, inside the task that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.privacy.randomness import secure_words, seeded_words
from vdr_spark.workers import ArrowTask, in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vdr_spark.privacy.mechanism import Mechanism

_NOISY = pa.schema([("slice", pa.int32()), ("counts", pa.list_(pa.int64()))])


def add_noise(
    packed: DataFrame, slices: int, cells_per_slice: int, mechanism: Mechanism, partitions: int, seed: int | None
) -> DataFrame:
    """Turn packed counts into `slice, counts`: every slice of every region, every cell with its own noise.

    The result must be written before it is read: evaluating it twice draws twice.
    """
    from pyspark.sql import functions as F

    empty = packed.sparkSession.range(slices).select(
        F.col("id").cast("int").alias("layer"), F.lit(b"").alias("cells"), F.lit(b"").alias("counts")
    )
    by_slice = packed.unionByName(empty).repartition(min(slices, partitions), "layer")
    add = in_worker(_noise_adder(cells_per_slice, mechanism, seed))
    return by_slice.mapInArrow(add, "slice int, counts array<bigint>")


def _noise_adder(cells_per_slice: int, mechanism: Mechanism, seed: int | None) -> ArrowTask:
    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # In order of slices, never of arrival: which slice came first would tell which ones hold pings.
        for number, counts in sorted(sum_packed(batches, cells_per_slice).items()):
            random_words = secure_words if seed is None else seeded_words(seed, number)
            noisy = counts + mechanism.sample(cells_per_slice, random_words)
            values = pa.ListArray.from_arrays(np.array([0, cells_per_slice], np.int32), noisy)
            yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), values], schema=_NOISY)

    return add
