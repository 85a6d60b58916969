"""What noise and storing it cost per cell: slices as bytes, as the collect stage writes them, beside lists of numbers.

    python benchmarks/slices.py --cells 576 --slices 96

No ping is read: all cells are empty, and each gets its noise. A way is timed from the drawing to the commit of a Delta
table, and then once more for the reading that hashes what was stored. From a few slices and from all, so that what
Spark costs at any size drops out. Seconds of processors are of Spark's Java process and its Python workers, and need
no quiet machine. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import psutil
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.collect.noise import add_noise
from vdr_spark.collect.packed_counts import PACKED_SCHEMA
from vdr_spark.collect.tensor_digest import digest_tensor
from vdr_spark.config.settings import SparkSettings
from vdr_spark.cost import CELLS_PER_TASK, tasks_for
from vdr_spark.price import Price
from vdr_spark.privacy.mechanism import build_mechanism
from vdr_spark.privacy.randomness import secure_words
from vdr_spark.spark.session import spark_session
from vdr_spark.workers import in_worker

K, EPSILON = 55, Fraction(6)


@dataclass(frozen=True)
class Spent:
    """Seconds by the clock, and of processors."""

    wall: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=576, help="along each side (default: %(default)s)")
    parser.add_argument("--slices", type=int, default=96, help="time slices, at least 16 (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.slices < 16 or arguments.cells < 2:
        parser.error("--slices must be at least 16, --cells at least 2")
    spark, per_slice = spark_session(SparkSettings()), arguments.cells**2
    found = {}
    for name, draw in {"bytes": _as_bytes, "lists": _as_lists}.items():
        few, many = (_measure(spark, draw, per_slice, count) for count in (arguments.slices // 8, arguments.slices))
        cells = (arguments.slices - arguments.slices // 8) * per_slice
        found[name] = Spent(1e6 * (many.wall - few.wall) / cells, 1e6 * (many.cpu - few.cpu) / cells)
        print(f"{name}: {found[name].wall:.3f} us of time and {found[name].cpu:.3f} us of a core per cell", flush=True)
    print(
        json.dumps(
            {
                "us_per_cell": found["bytes"].cpu,
                "us_per_cell_wall": found["bytes"].wall,
                "ratio_to_lists": found["bytes"].cpu / found["lists"].cpu,
                "threads": len(os.sched_getaffinity(0)),
            }
        )
    )


def _as_bytes(spark: SparkSession, per_slice: int, slices: int) -> DataFrame:
    empty = spark.createDataFrame([], PACKED_SCHEMA)
    tasks = tasks_for(slices * per_slice, CELLS_PER_TASK, 200)
    return add_noise(
        empty, slices, per_slice, build_mechanism("discrete_laplace", K, Price.epsilon(EPSILON)), tasks, None
    )


def _as_lists(spark: SparkSession, per_slice: int, slices: int) -> DataFrame:
    """The same noise, as lists of 64-bit integers."""
    mechanism = build_mechanism("discrete_laplace", K, Price.epsilon(EPSILON))

    def draw(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number in (number for batch in batches for number in batch.column(0).to_pylist()):
            noisy = mechanism.sample(per_slice, secure_words)
            values = pa.ListArray.from_arrays(np.array([0, per_slice], np.int32), noisy)
            yield pa.RecordBatch.from_arrays([pa.array([number], pa.int32()), values], names=["slice", "counts"])

    numbers = spark.range(0, slices, 1, tasks_for(slices * per_slice, CELLS_PER_TASK, 200))
    return numbers.mapInArrow(in_worker(draw), "slice int, counts array<bigint>")


def _measure(
    spark: SparkSession, draw: Callable[[SparkSession, int, int], DataFrame], per_slice: int, slices: int
) -> Spent:
    """Write and hash slices, the second of two times: the first warms up."""
    for _ in range(2):
        with tempfile.TemporaryDirectory() as folder:
            cpu, wall = _processors_used(), time.perf_counter()
            draw(spark, per_slice, slices).write.format("delta").save(f"{folder}/table")
            stored = spark.read.format("delta").load(f"{folder}/table")
            if "bytes_per_count" in stored.columns:
                digest_tensor(stored)
            else:
                stored.select(F.sum(F.hash("counts"))).collect()
            spent = Spent(time.perf_counter() - wall, _processors_used() - cpu)
    return spent


def _processors_used() -> float:
    """Seconds of this process and of all that it has started."""
    own = psutil.Process()
    times = [process.cpu_times() for process in (own, *own.children(recursive=True))]
    return float(sum(spent.user + spent.system for spent in times))


if __name__ == "__main__":
    main()
