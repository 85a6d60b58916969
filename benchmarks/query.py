"""How long questions to a release take, and how much of its table they read, at the paper's size.

    python benchmarks/query.py

A made-up city of 576 x 576 x 96 cells is published by the publish stage, and a square kilometre for a day is asked for
by the command line from a cold start, by a release in memory in batches of 10,000, and by DuckDB, Polars and Spark SQL
over the same table. Every engine must give the same sum. The last line is JSON.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import yaml
from pyspark.sql import SparkSession

from vdr_spark import read_release, spark_session
from vdr_spark.config import load_config
from vdr_spark.grid import Grid
from vdr_spark.plan import ReleasePlan, make_plan
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.refine import round_as_told
from vdr_spark.release.publish import publish
from vdr_spark.report_page import Contents, report_page
from vdr_spark.signal import Signal
from vdr_spark.storage.delta_files import list_files
from vdr_spark.storage.files import write_json
from vdr_spark.storage.tensor_file import Tensor, write_tensor
from vdr_spark.sum_errors import Spread, SumErrors, Total

TOTAL = 50_000_000
BATCH = 10_000


@dataclass(frozen=True)
class Question:
    """A square kilometre for a day, across tiles and across blocks of slices, in whole cells."""

    rows: range
    columns: range
    slices: range

    @property
    def sql(self) -> str:
        axes = (("y", self.rows), ("x", self.columns), ("slice", self.slices))
        return " AND ".join(f"{name} BETWEEN {axis.start} AND {axis.stop - 1}" for name, axis in axes)


def main() -> None:
    arguments = _arguments()
    spark = spark_session()
    with tempfile.TemporaryDirectory(prefix="vdr-query-") as folder:
        conf, release = prepare(Path(folder), arguments.cells, arguments.slices)
        figures: dict[str, float] = {"publish_s": publish_city(spark, release)}
        files = list_files(str(release.plan.output.table("cells")), release_id=release.release_id)
        question, grid = _question(release.grid), release.grid
        figures["table_mb"] = sum(Path(file).stat().st_size for file in files) / 1e6
        figures["bytes_read_share"] = _share_read(files, question)
        figures |= _ask_engines(spark, files, question, release)
        figures["cold_cli_s"] = min(_cold_command_line(conf, grid, question) for _ in range(3))
        figures |= _ask_in_python(release)
        figures |= _report(release)
    for name, value in figures.items():
        print(f"{name:20} {value:12.4g}")
    print(json.dumps(figures))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=576, help="along each side (default: %(default)s)")
    parser.add_argument("--slices", type=int, default=96, help="of 3 hours (default: %(default)s)")
    return parser.parse_args()


def prepare(folder: Path, cells: int, slices: int) -> tuple[Path, ReleasePlan]:
    """Write a configuration and what the stages before `publish` would leave."""
    conf = folder / "conf.yaml"
    settings = {
        "name": "query",
        "dataset": "nobody",
        "output": str(folder / "out"),
        "input": {"path": str(folder / "pings")},
        "region": {"center": [29.7604, -95.3698], "side_m": 20_000},
        "grid": {"cells_per_side": cells},
        "period": {"start": "2020-01-07T00:00+00:00", "end": _end(slices), "slice": "3h"},
        "privacy": {"epsilon": 6, "k": 13, "total_pings": TOTAL, "budget": 6},
        "denoise": {"model": "ridge"},
    }
    conf.write_text(yaml.safe_dump(settings))
    (release,) = make_plan(load_config(conf)).releases(TOTAL)
    counts = _city(release.grid)
    write_tensor(release.folder.refined, round_as_told(Tensor(counts, np.sqrt(counts + 1) * np.float32(1.3))))
    spreads = tuple(Spread(side, number, 0.1) for side in (1, 4, 16, 64) for number in (1, slices))
    errors = SumErrors(40.0, spreads, 1e5, Total(float(TOTAL)))
    write_json(release.folder.denoising, {"model": "ridge", "fusion": True, "estimated_rmse": None})
    write_json(release.folder.refinement, {"gamma": 14.0, "kappa": 0.3, "sum_errors": errors.as_notes()})
    return conf, release


def _end(slices: int) -> str:
    return datetime.fromtimestamp(datetime(2020, 1, 7, tzinfo=UTC).timestamp() + 10_800 * slices, UTC).isoformat()


def _city(grid: Grid) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Counts that fall off from some centres, with a day's rhythm and a chance of their own in every cell."""
    rng = np.random.default_rng(0)
    y, x = np.indices(grid.shape[1:]) / grid.cells_per_side
    places = rng.random((12, 2))
    shape = sum(np.exp(-np.hypot(y - place[0], x - place[1]) * rng.uniform(8, 40)) for place in places)
    rhythm = 1 + 0.7 * np.sin(np.arange(grid.slices) / 8 * 2 * np.pi)
    counts = np.stack([shape * rate * rng.gamma(2.0, 0.5, shape.shape) for rate in rhythm]).astype(np.float32)
    return counts * np.float32(TOTAL / counts.sum(dtype=np.float64))


def publish_city(spark: SparkSession, release: ReleasePlan) -> float:
    spent = Entry(
        sequence=3,
        dataset="nobody",
        draw_id=release.draw.draw_id,
        state=State.SPENT,
        epsilon=Fraction(6),
        recorded_at=datetime.now(UTC),
        configuration_hash="",
        entry_hash="",
        purpose="cells",
        window_seconds=None,
        tensor_sha256="",
        identity_sha256="",
    )
    signal = Signal(3.6e6, 1e5, release.grid.slices, release.grid.slices, TOTAL)
    spark.range(1).count()  # a session that runs
    began = time.perf_counter()
    publish(spark, release, spent, [spent], signal)
    return time.perf_counter() - began


def _question(grid: Grid) -> Question:
    side = round(1000 / grid.cell_metres[0])
    start = grid.cells_per_side // 2 - side // 2
    return Question(range(start, start + side), range(start, start + side), range(4, min(12, grid.slices)))


def _share_read(files: list[str], question: Question) -> float:
    """Return the share of the bytes that lie in row groups which may hold such cells, as their statistics tell."""
    read = whole = 0
    for file in files:
        metadata = pq.ParquetFile(file).metadata
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            columns = [group.column(place) for place in range(group.num_columns)]
            size = sum(column.total_compressed_size for column in columns)
            found = {column.path_in_schema: column.statistics for column in columns}
            axes = (("y", question.rows), ("x", question.columns), ("slice", question.slices))
            whole += size
            read += size * all(found[name].min < axis.stop and found[name].max >= axis.start for name, axis in axes)
    return read / whole


def _ask_engines(spark: SparkSession, files: list[str], question: Question, release: ReleasePlan) -> dict[str, float]:
    table = str(release.plan.output.table("cells"))
    query = f"SELECT sum(CAST(count AS DOUBLE)) FROM {{}} WHERE {question.sql}"
    by_spark = spark.read.format("delta").load(table).where(f"release_id = '{release.release_id}'")
    by_spark.createOrReplaceTempView("asked_cells")
    before = _input_bytes(spark)
    asked: dict[str, Callable[[], float]] = {
        "duckdb_ms": lambda: duckdb.execute(query.format("read_parquet(?)"), [files]).fetchall()[0][0],
        "polars_ms": lambda: _by_polars(files, question),
        "spark_sql_ms": lambda: spark.sql(query.format("asked_cells")).collect()[0][0],
    }
    figures, sums = {}, {}
    for name, ask in asked.items():
        sums[name], figures[name] = ask(), 1000 * _best_of(ask, 5)
    assert np.ptp(list(sums.values())) <= 1e-9 * max(sums.values()), sums
    read = (_input_bytes(spark) - before) / 6
    return figures | {"spark_bytes_read_share": read / sum(Path(file).stat().st_size for file in files)}


def _by_polars(files: list[str], question: Question) -> float:
    cells = pl.scan_parquet(files).filter(
        pl.col("y").is_between(question.rows.start, question.rows.stop - 1)
        & pl.col("x").is_between(question.columns.start, question.columns.stop - 1)
        & pl.col("slice").is_between(question.slices.start, question.slices.stop - 1)
    )
    return float(cells.select(pl.col("count").cast(pl.Float64).sum()).collect().item())


def _input_bytes(spark: SparkSession) -> int:
    """Return the bytes that Spark says it has read."""
    context = spark.sparkContext._jsc.sc()
    context.listenerBus().waitUntilEmpty()
    return int(context.statusStore().executorSummary("driver").totalInputBytes())


def _cold_command_line(conf: Path, grid: Grid, question: Question) -> float:
    box, side = grid.box, grid.cells_per_side
    height, width = (box.north - box.south) / side, (box.east - box.west) / side
    edges = (
        box.south + question.rows.start * height,
        box.west + question.columns.start * width,
        box.south + question.rows.stop * height,
        box.west + question.columns.stop * width,
    )
    times = (grid.slice_start(question.slices.start).isoformat(), grid.slice_start(question.slices.stop).isoformat())
    vdr = [str(Path(sys.executable).with_name("vdr")), "query", "range", str(conf)]
    began = time.perf_counter()
    said = subprocess.run(
        [*vdr, f"--box={','.join(map(str, edges))}", "--from", times[0], "--to", times[1]],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds = time.perf_counter() - began
    assert "pings" in said.stdout, said
    return seconds


def _report(release: ReleasePlan) -> dict[str, float]:
    """Return how long the report takes, from the tables on, and how large it is."""
    began = time.perf_counter()
    page = report_page(Contents(read_release(release.plan.output.root, release.release_id)))
    return {"report_s": time.perf_counter() - began, "report_mb": len(page.encode()) / 1e6}


def _ask_in_python(release: ReleasePlan) -> dict[str, float]:
    read = read_release(release.plan.output.root, release.release_id)
    began = time.perf_counter()
    _ = read.counts
    reading = time.perf_counter() - began
    began = time.perf_counter()
    _ = read.summed_counts, read.summed_variances
    summing = time.perf_counter() - began
    rng, box = np.random.default_rng(0), release.grid.box
    corner = rng.random((BATCH, 2)) * 0.9
    edges = np.concatenate([corner, corner + rng.uniform(0.001, 0.1, (BATCH, 2))], axis=1)
    degrees = np.array([box.south, box.west] * 2) + edges * np.array([box.north - box.south, box.east - box.west] * 2)
    batch = _best_of(lambda: float(read.range_counts(degrees).counts[0]), 5)
    return {"read_release_s": reading, "summing_s": summing, "batch_us": 1e6 * batch / BATCH}


def _best_of(ask: Callable[[], float], times: int) -> float:
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        ask()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


if __name__ == "__main__":
    main()
