"""Seconds to bound and bin pings: ours, beside a bare scan in Spark, the textbook plan, DuckDB and Polars.

Run: python benchmarks/collect.py --rows 5e7 --k 53. All with the same pings and as many threads as the machine has
cores, each after a warm-up; the ratios are what counts. Last line: JSON. With `--sweep`, how time grows with rows;
with `--extremes`, very many users and one very large one.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from functools import partial
from pathlib import Path

from figures import (
    find_ratio,
    fit_exponent,
    heap_used_mb,
    peak_driver_mb,
    print_agreement,
    print_table,
    shuffled_so_far,
)
from methods import bare_scan, measure, measure_ours, sum_of_counts, sum_of_packed, textbook
from peers import PEERS, Measured, Task, measure_apart
from pings import as_delta, cached_pings, configuration, is_written, say, scattered, size_of, write
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.settings import SparkSettings
from vdr_spark.plan import make_plan
from vdr_spark.spark.session import spark_session

ROWS = {"peers": 5e7, "sweep": 1e8, "extremes": 1e7}  # unless --rows says otherwise


def main() -> None:
    arguments = _arguments()
    mode = "sweep" if arguments.sweep else "extremes" if arguments.extremes else "peers"
    rows = round(arguments.rows or ROWS[mode])
    spark = spark_session(SparkSettings())
    modes = {"sweep": sweep, "extremes": extremes, "peers": beside_peers}
    result = modes[mode](spark, arguments, rows)
    print(json.dumps(result))
    if result.get("kept_agree") is False:
        sys.exit("the methods that sample kept different numbers of pings: one of them is wrong")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--rows", type=float, help="about how many pings (default: 5e7; --sweep 1e8, its largest; --extremes 1e7)"
    )
    parser.add_argument("--k", type=int, default=53, help="pings kept of each user (default: %(default)s)")
    parser.add_argument(
        "--order", choices=["people", "time"], default="people", help="how the files are sorted (default: %(default)s)"
    )
    parser.add_argument(
        "--ids", choices=["number", "text"], default="number", help="kind of user_id (default: %(default)s)"
    )
    parser.add_argument("--repeats", type=int, default=1, help="timed runs, of which the median (default: %(default)s)")
    home = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    parser.add_argument(
        "--cache",
        type=Path,
        default=home / "vdr-benchmarks",
        metavar="DIR",
        help="where pings are made once and kept, 25 bytes each (default: %(default)s)",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument("--sweep", action="store_true", help="ours and the scan at rows / 16, / 8, / 4, / 2 and rows")
    modes.add_argument(
        "--extremes",
        action="store_true",
        help="ours with one ping each of 1e7 (or --rows) users, and with one user who has half of all pings",
    )
    arguments = parser.parse_args()
    if arguments.k < 1 or arguments.repeats < 1 or (arguments.rows is not None and arguments.rows < 1):
        parser.error("--rows, --k and --repeats must be at least 1")
    arguments.cache = arguments.cache.expanduser().absolute()
    return arguments


def beside_peers(spark: SparkSession, arguments: argparse.Namespace, rows: int) -> dict[str, object]:
    k, repeats = arguments.k, arguments.repeats
    path = cached_pings(spark, arguments.cache, rows, arguments.order, arguments.ids)
    rows, users = size_of(spark, path)
    config = configuration(path, k, rows)
    weighted, by_norm = (configuration(path, k, rows, bounding=name) for name in ("weight", "l2"))
    through_spark = configuration(path, k, rows, reader="spark")
    through_delta = configuration(as_delta(spark, path), k, rows, form="delta")
    threads = len(os.sched_getaffinity(0))

    scan = measure("bare scan", partial(bare_scan, spark, config), DataFrame.count, repeats)
    plain = measure("textbook", partial(textbook, spark, config), sum_of_counts, repeats)
    before = shuffled_so_far(spark)
    sample = measure_ours(spark, "ours, sample", config, sum_of_packed, repeats)
    shuffled = (shuffled_so_far(spark) - before) / (repeats + 2)  # with the warm-up and the run that adds up
    delta = measure_ours(spark, "ours, sample, of a Delta table", through_delta, sum_of_packed, repeats)
    weight = measure_ours(spark, "ours, weight", weighted, None, repeats)
    norm = measure_ours(spark, "ours, l2", by_norm, None, repeats)
    reader = measure_ours(spark, "ours, sample, through Spark", through_spark, sum_of_packed, repeats)
    driver_mb, heap_mb = peak_driver_mb(), heap_used_mb(spark)
    peers = {}
    for peer in PEERS:
        say(f"{peer} ...")
        peers[peer] = measure_apart(peer, _task(path, config, threads, repeats))

    print(f"{rows:,} pings of {users:,} users, order {arguments.order}, ids {arguments.ids}, k {k}, {threads} threads")
    samplers = {
        "Spark, textbook window": plain,
        "ours, sample": sample,
        "ours, sample, of a Delta table": delta,
        "ours, sample, input.reader spark": reader,
        "DuckDB, min_by of k": peers["duckdb"],
        "DuckDB, window": peers["duckdb_window"],
        "Polars, list.sample": peers["polars"],
    }
    print_table({"Spark, bare scan and bin": scan, "ours, weight": weight, "ours, l2": norm} | samplers, scan)
    agree = print_agreement(samplers)

    of_duckdb = (peers["duckdb"].seconds, peers["duckdb_window"].seconds)
    duckdb = min((seconds for seconds in of_duckdb if seconds is not None), default=None)
    return {
        "rows": rows,
        "users": users,
        "order": arguments.order,
        "ids": arguments.ids,
        "k": k,
        "threads": threads,
        "scan_s": scan.seconds,
        "collect_s": sample.seconds,
        "ratio_to_scan": find_ratio(sample.seconds, scan.seconds),
        "ratio_to_textbook": find_ratio(sample.seconds, plain.seconds),
        "ratio_to_duckdb": find_ratio(sample.seconds, duckdb),
        "ratio_to_polars": find_ratio(sample.seconds, peers["polars"].seconds),
        "ratio_delta_to_parquet": find_ratio(delta.seconds, sample.seconds),
        "ratio_weight_to_sample": find_ratio(weight.seconds, sample.seconds),
        "ratio_l2_to_weight": find_ratio(norm.seconds, weight.seconds),
        "textbook_s": plain.seconds,
        "weight_s": weight.seconds,
        "l2_s": norm.seconds,
        "spark_reader_s": reader.seconds,
        "duckdb_s": peers["duckdb"].seconds,
        "duckdb_window_s": peers["duckdb_window"].seconds,
        "polars_s": peers["polars"].seconds,
        "problems": {name: peer.problem for name, peer in peers.items() if peer.problem},
        "kept": sample.kept,
        "kept_agree": agree,
        "shuffle_bytes_per_ping": shuffled / max(1, scan.kept or 0),
        "peak_driver_mb": driver_mb,
        "jvm_heap_used_mb": heap_mb,
    }


def sweep(spark: SparkSession, arguments: argparse.Namespace, largest: int) -> dict[str, object]:
    """From small to large, so that the peak memory of the driver is that of the size it stands beside."""
    rows, driver_mb = [], []
    seconds: dict[str, list[float]] = {"scan": [], "sample": [], "weight": [], "l2": []}
    print(f"{'rows':>12} {'scan s':>8} {'sample s':>9} {'weight s':>9} {'l2 s':>9} {'driver MB':>10}")
    for size in [largest // 2**halvings for halvings in (4, 3, 2, 1, 0)]:
        path = cached_pings(spark, arguments.cache, size, arguments.order, arguments.ids)
        rows.append(size_of(spark, path)[0])
        for name, measured in measure_each(spark, path, rows[-1], arguments).items():
            seconds[name].append(measured.seconds or 0.0)
        driver_mb.append(peak_driver_mb())
        scan, *ours = (times[-1] for times in seconds.values())
        columns = " ".join(f"{of:>9.2f}" for of in ours)
        print(f"{rows[-1]:>12,} {scan:>8.2f} {columns} {driver_mb[-1]:>10.0f}", flush=True)
    exponents = {name: fit_exponent(rows, times) for name, times in seconds.items()}
    print("time grows as rows to the power of " + ", ".join(f"{e:.2f} ({name})" for name, e in exponents.items()))
    return {
        "rows": rows,
        "seconds": seconds["sample"],
        "weight_seconds": seconds["weight"],
        "l2_seconds": seconds["l2"],
        "scan_seconds": seconds["scan"],
        "driver_mb": driver_mb,
        **{f"exponent_{name}": exponent for name, exponent in exponents.items()},
        "order": arguments.order,
        "ids": arguments.ids,
        "k": arguments.k,
        "threads": len(os.sched_getaffinity(0)),
    }


def extremes(spark: SparkSession, arguments: argparse.Namespace, rows: int) -> dict[str, object]:
    """Nobody to bound, and somebody who fills the files: half of all pings, the rest being of `rows` / 200 others."""
    number = F.col("id")
    others = max(1, rows // 200)
    cases = {
        "one_ping_each": number,
        "one_large_user": F.when(number % 2 == 0, 0).otherwise(1 + F.floor(number / 2) % others),
    }
    result: dict[str, object] = {"k": arguments.k, "threads": len(os.sched_getaffinity(0))}
    for case, user in cases.items():
        path = arguments.cache / f"{case}-{rows}"
        if not is_written(path):
            say(f"making {path} ...")
            write(spark, scattered(spark, rows, make_plan(configuration(path, arguments.k, rows)).grids[0], user), path)
        found, users = size_of(spark, path)
        measured = measure_each(spark, path, found, arguments)
        print(f"{case}: {found:,} pings of {users:,} users, driver's peak so far {peak_driver_mb():.0f} MB")
        print_table(measured, measured["scan"])
        result[case] = {
            "rows": found,
            "users": users,
            **{f"{name}_s": each.seconds for name, each in measured.items()},
            "kept": measured["sample"].kept,
            "peak_driver_mb": peak_driver_mb(),
        }
    return result


def measure_each(spark: SparkSession, path: Path, rows: int, arguments: argparse.Namespace) -> dict[str, Measured]:
    """The scan, `sample`, `weight` and `l2`."""
    k, repeats = arguments.k, arguments.repeats
    config, weighted, by_norm = (configuration(path, k, rows, bounding=name) for name in ("sample", "weight", "l2"))
    where = f"{rows:,} pings, "
    return {
        "scan": measure(where + "scan", partial(bare_scan, spark, config), DataFrame.count, repeats),
        "sample": measure_ours(spark, where + "sample", config, sum_of_packed, repeats),
        "weight": measure_ours(spark, where + "weight", weighted, None, repeats),
        "l2": measure_ours(spark, where + "l2", by_norm, None, repeats),
    }


def _task(path: Path, config: ReleaseConfig, threads: int, repeats: int) -> Task:
    plan = make_plan(config)
    grid, box = plan.grids[0], plan.grids[0].box
    return Task(
        path=str(path),
        k=plan.bound(config.privacy.total_pings or 0),
        threads=threads,
        repeats=repeats,
        south=box.south,
        west=box.west,
        north=box.north,
        east=box.east,
        cells=grid.cells_per_side,
        start_us=round(grid.start.timestamp()) * 1_000_000,
        slice_us=grid.slice_seconds * 1_000_000,
        slices=grid.slices,
    )


if __name__ == "__main__":
    main()
