"""Figures of a benchmark: memory, shuffles, ratios, and tables of them."""

from __future__ import annotations

import resource
from collections.abc import Sequence

import numpy as np
from peers import Measured
from pyspark.sql import SparkSession


def shuffled_so_far(spark: SparkSession) -> int:
    """Bytes written for shuffles, as Spark stores them: compressed."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().executorSummary("driver").totalShuffleWrite())


def peak_driver_mb() -> float:
    """Of this Python process alone, so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def heap_used_mb(spark: SparkSession) -> float:
    """What Spark's Java process still holds after a collection."""
    jvm = spark._jvm
    assert jvm is not None
    jvm.java.lang.System.gc()
    runtime = jvm.java.lang.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def find_ratio(seconds: float | None, others: float | None) -> float | None:
    return seconds / others if seconds and others else None


def fit_exponent(rows: Sequence[int], seconds: Sequence[float]) -> float:
    """Of time against rows: least squares of their logarithms."""
    return float(np.polyfit(np.log(rows), np.log(seconds), 1)[0])


def print_table(results: dict[str, Measured], scan: Measured) -> None:
    print(f"{'':34} {'seconds':>8} {'to the scan':>12} {'kept pings':>12}")
    for name, result in results.items():
        if result.seconds is None:
            print(f"{name:34} {result.problem}")
            continue
        ratio = result.seconds / (scan.seconds or result.seconds)
        kept = "-" if result.kept is None else f"{result.kept:,}"
        print(f"{name:34} {result.seconds:>8.2f} {ratio:>12.2f} {kept:>12}")


def print_agreement(samplers: dict[str, Measured]) -> bool:
    kept = {result.kept for result in samplers.values() if result.kept is not None}
    if len(kept) == 1:
        print(f"All methods that sample kept the same number of pings, {kept.pop():,}.")
        return True
    print("The methods that sample kept DIFFERENT numbers of pings.")
    return False
