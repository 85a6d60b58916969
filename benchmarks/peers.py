"""At most k pings of each user, counted by cell, in DuckDB and Polars: the peers of `benchmarks/collect.py`.

Each runs in a process of its own, so that its memory is neither counted as ours nor able to take us down with it.
Run: echo '{"path": ..., ...}' | python benchmarks/peers.py polars. One line of JSON: seconds and pings kept.
"""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Task:
    """Parquet files `user_id, lat, lon, ts` and the grid their pings are counted on."""

    path: str
    k: int
    threads: int
    repeats: int
    south: float
    west: float
    north: float
    east: float
    cells: int
    start_us: int
    slice_us: int
    slices: int

    @property
    def files(self) -> str:
        return f"{self.path}/*.parquet"

    @property
    def end_us(self) -> int:
        return self.start_us + self.slices * self.slice_us

    @property
    def per_lat(self) -> float:
        return self.cells / (self.north - self.south)

    @property
    def per_lon(self) -> float:
        return self.cells / (self.east - self.west)


@dataclass(frozen=True)
class Measured:
    """Seconds of a run and the pings it kept, or why there are none."""

    seconds: float | None = None
    kept: int | None = None
    problem: str | None = None


def timed(run: Callable[[], object], repeats: int) -> float:
    """Seconds of a run, the median of some."""
    seconds = []
    for _ in range(repeats):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def measure_apart(peer: str, task: Task) -> Measured:
    """A peer in a process of its own. One that fails, or is not installed, says so instead of a time."""
    child = subprocess.run(
        [sys.executable, __file__, peer], input=json.dumps(asdict(task)), capture_output=True, text=True, check=False
    )
    if child.returncode == 0:
        return Measured(**json.loads(child.stdout.splitlines()[-1]))
    if child.returncode in (-signal.SIGKILL, -signal.SIGABRT):
        return Measured(problem="killed, most likely for want of memory")
    reasons = re.findall(r"^[\w.]+(?:Error|Exception)\b.*", child.stderr, re.MULTILINE) or ["without a word"]
    missing = reasons[-1].startswith("ModuleNotFoundError")
    return Measured(problem="not installed" if missing else f"failed: {reasons[-1][:100]}")


def duckdb_min_by(task: Task) -> Callable[[], int]:
    """The k lowest hashes of each user, as an aggregate: no user's pings are sorted."""
    chosen = f"""SELECT unnest(min_by({_duckdb_cell(task)}, {_HASH}, {task.k})) AS cell
                 FROM read_parquet('{task.files}') WHERE {_duckdb_inside(task)} GROUP BY user_id"""
    return _duckdb(task, chosen)


def duckdb_window(task: Task) -> Callable[[], int]:
    """The textbook query."""
    chosen = f"""SELECT {_duckdb_cell(task)} AS cell
                 FROM read_parquet('{task.files}') WHERE {_duckdb_inside(task)}
                 QUALIFY row_number() OVER (PARTITION BY user_id ORDER BY {_HASH}) <= {task.k}"""
    return _duckdb(task, chosen)


_HASH = "hash(user_id, lat, lon, ts, 42)"


def _duckdb(task: Task, chosen: str) -> Callable[[], int]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"SET threads={task.threads}")
    connection.execute("SET preserve_insertion_order=false")
    connection.execute("SET enable_progress_bar=false")
    connection.execute(f"SET temp_directory='{tempfile.gettempdir()}/vdr-benchmarks-duckdb'")
    query = f"SELECT count(*), sum(c) FROM (SELECT cell, count(*) AS c FROM ({chosen}) GROUP BY cell)"

    def run() -> int:
        row = connection.execute(query).fetchone()
        assert row is not None
        return int(row[1])

    return run


def _duckdb_inside(task: Task) -> str:
    return f"""lat >= {task.south!r} AND lat < {task.north!r} AND lon >= {task.west!r} AND lon < {task.east!r}
               AND epoch_us(ts) >= {task.start_us} AND epoch_us(ts) < {task.end_us}"""


def _duckdb_cell(task: Task) -> str:
    last = task.cells - 1
    t = f"CAST((epoch_us(ts) - {task.start_us}) // {task.slice_us} AS INT)"
    y = f"least(CAST(floor((lat - ({task.south!r})) * {task.per_lat!r}) AS INT), {last})"
    x = f"least(CAST(floor((lon - ({task.west!r})) * {task.per_lon!r}) AS INT), {last})"
    return f"({t} * {task.cells} + {y}) * {task.cells} + {x}"


def polars(task: Task) -> Callable[[], int]:
    """Each user's cells as a list, and k of every list at random.

    The fastest of those tried, Polars 2.1, 2 million rows, by person and by time, two threads, best of five:
    `agg(cell.sample(min(len, k)))` took 1.1 times as long, `agg(cell.shuffle().head(k))` and
    `agg(cell.sort_by(hash).head(k))` 1.1 to 1.7, `filter(int_range(len).shuffle().over(user) < k)` 1.3 to 2,
    `agg(cell.bottom_k_by(hash, k))` and `filter(hash.rank().over(user) <= k)` 1.8 to 2.8, sorting or shuffling all
    rows first 2 to 5. The in-memory engine took 1.05 to 1.25 times as long as the streaming one. With ids of text
    the first three are equal within the noise.
    """
    os.environ["POLARS_MAX_THREADS"] = str(task.threads)  # read once, at the import
    import polars as pl

    lat, lon, us, cell = pl.col("lat"), pl.col("lon"), pl.col("ts").dt.epoch("us"), pl.col("cell")
    last = task.cells - 1
    t = ((us - task.start_us) // task.slice_us).cast(pl.Int32)
    y = ((lat - task.south) * task.per_lat).cast(pl.Int32).clip(upper_bound=last)
    x = ((lon - task.west) * task.per_lon).cast(pl.Int32).clip(upper_bound=last)
    inside = (lat >= task.south) & (lat < task.north) & (lon >= task.west) & (lon < task.east)
    inside &= (us >= task.start_us) & (us < task.end_us)

    pings = pl.scan_parquet(task.files).filter(inside)
    located = pings.select("user_id", ((t * task.cells + y) * task.cells + x).alias("cell"))
    of_user = located.group_by("user_id").agg(cell)
    chosen = of_user.select(cell.list.sample(n=pl.min_horizontal(cell.list.len(), pl.lit(task.k))).explode())
    total = chosen.group_by("cell").len("pings").select(pl.len().alias("cells"), pl.col("pings").sum())
    return lambda: int(total.collect(engine="streaming")["pings"][0])


PEERS = {"duckdb": duckdb_min_by, "duckdb_window": duckdb_window, "polars": polars}


def main() -> None:
    task = Task(**json.load(sys.stdin))
    run = PEERS[sys.argv[1]](task)
    kept = run()  # the warm-up
    print(json.dumps(asdict(Measured(timed(run, task.repeats), kept))))


if __name__ == "__main__":
    main()
