"""Noise on every cell: packed counts become noisy slices, inside the task that writes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from vdr_spark.collect.packed_counts import sum_packed
from vdr_spark.privacy.randomness import secure_words, seeded_words
from vdr_spark.storage.slice_bytes import SLICE_SCHEMA, encode_slice
from vdr_spark.workers import ArrowTask, in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from vdr_spark.privacy.mechanism import Mechanism


def add_noise(
    packed: DataFrame, slices: int, cells_per_slice: int, mechanism: Mechanism, partitions: int, seed: int | None
) -> DataFrame:
    """Turn packed counts into rows of `storage.slice_bytes`: every slice of every region, every cell with its noise.

    The result must be written before it is read: evaluating it twice draws twice.
    """
    from pyspark.sql import functions as F

    empty = packed.sparkSession.range(slices).select(
        F.col("id").cast("int").alias("layer"), F.lit(b"").alias("cells"), F.lit(b"").alias("counts")
    )
    by_slice = packed.unionByName(empty).repartition(min(slices, partitions), "layer")
    add = in_worker(_noise_adder(cells_per_slice, mechanism, seed))
    return by_slice.mapInArrow(add, SLICE_SCHEMA)


def _noise_adder(cells_per_slice: int, mechanism: Mechanism, seed: int | None) -> ArrowTask:
    def add(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # In order of slices, never of arrival: which slice came first would tell which ones hold pings.
        for number, counts in sorted(sum_packed(batches, cells_per_slice).items()):
            random_words = secure_words if seed is None else seeded_words(seed, number)
            yield encode_slice(number, counts + mechanism.sample(cells_per_slice, random_words))

    return add
