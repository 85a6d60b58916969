"""Tallies of noisy counts, made on Spark and added up: what the noise check needs to know of a tensor.

Here and not in the audit's room, because Spark's Python workers import it: they may have NumPy and pyarrow only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import reduce
from operator import add
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from vdr_spark.privacy.noise_check import NoiseCheck, Tally
from vdr_spark.storage.slice_bytes import decode_slices
from vdr_spark.workers import ArrowTask, in_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def tally_noise(rows: DataFrame, check: NoiseCheck) -> Tally:
    """Return the tally of all noisy counts of some rows of `noisy_slices`."""
    tallied = rows.select("counts", "bytes_per_count").mapInArrow(in_worker(_tally_task(check)), "tally binary")
    return reduce(add, (_unpack(bytes(row.tally)) for row in tallied.collect()))


def _tally_task(check: NoiseCheck) -> ArrowTask:
    def tally(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            packed = [_pack(check.tally(noisy)) for noisy in decode_slices(batch)]
            yield pa.RecordBatch.from_pydict({"tally": pa.array(packed, pa.binary())})

    return tally


def _pack(tally: Tally) -> bytes:
    return json.dumps({**vars(tally), "bins": tally.bins.tolist()}).encode()


def _unpack(packed: bytes) -> Tally:
    values = json.loads(packed)
    return Tally(**(values | {"bins": np.array(values["bins"], dtype=np.int64)}))
