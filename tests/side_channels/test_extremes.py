"""Nothing is read from the data but the counts: with a user at the extremes, or without, all outputs look the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from tests.adversarial_input.pings import places, write
from tests.conftest import mark_as_generated
from tests.plans import collect, grid_of, run_release
from vdr_spark.config import ReleaseConfig
from vdr_spark.storage.slice_bytes import decode_counts

Small = Callable[..., ReleaseConfig]
# Hashes of entries cover the time; the statement and the page say it too.
WHEN = (
    "created",
    "createdTime",
    "recorded_at",
    "entry_hash",
    "ledger_entry_hash",
    "last_entry_hash",
    "publication_date",
)
NOISE = ("counts", "tensor_sha256")  # and its sum, in the ledger
UUID = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}")
FAR = 2**63 - 1


def write_base(config: ReleaseConfig) -> None:
    cells = np.random.default_rng(4).integers(0, grid_of(config).size, 900)
    write(config, "base", user_id=pa.array(cells % 40), **places(grid_of(config), cells))
    mark_as_generated(config.input.path)


def write_outside(config: ReleaseConfig) -> None:
    """Farther than anybody else in every direction, of place and of time."""
    lat = [90.0, -90.0, 1e308, -1e308, np.inf, np.nan, *[29.7604] * 4]
    lon = [180.0, -180.0, -np.inf, 1e308, np.nan, 0.0, *[-95.3698] * 4]
    ts = [FAR, -FAR - 1, 0, -1, 1, FAR, FAR, -FAR, -62_135_596_800_000_000, 253_402_300_799_999_999]
    times = pa.array(ts).cast(pa.timestamp("us", "UTC"))
    write(config, "extreme", user_id=pa.array([FAR] * len(lat)), lat=pa.array(lat), lon=pa.array(lon), ts=times)


def write_edges(config: ReleaseConfig) -> None:
    """In the four corners of the box, at the first and the last moment, more often than k."""
    grid = grid_of(config)
    box, start, end = grid.box, round(grid.start.timestamp() * 1e6), round(grid.end.timestamp() * 1e6)
    corners = [
        (lat, lon, moment)
        for lat in (box.south, np.nextafter(box.north, box.south))
        for lon in (box.west, np.nextafter(box.east, box.west))
        for moment in (start, end - 1)
    ]
    lat, lon, ts = (pa.array(list(column) * 10) for column in zip(*corners, strict=True))
    times = ts.cast(pa.timestamp("us", "UTC"))
    write(config, "extreme", user_id=pa.array([-FAR - 1] * len(lat)), lat=lat, lon=lon, ts=times)


def outputs(folder: Path, but: tuple[str, ...] = ()) -> list[tuple[str, object]]:
    """What every file says, but for times and ids of its making, and for some columns."""
    found: list[tuple[str, object]] = []
    for file in folder.rglob("*"):
        name = UUID.sub("", str(file.relative_to(folder)))
        content: object = None
        if file.suffix == ".parquet":
            table = pq.ParquetFile(file).read()
            table = table.drop_columns([column for column in (*WHEN, *but) if column in table.column_names])
            content = table.schema.to_string(), [without_times(row) for row in table.to_pylist()]
        elif "_delta_log" in name and file.suffix == ".json":
            content = [commit_of(line) for line in file.read_text().splitlines()]
        elif file.suffix == ".json":
            content = without_times(json.loads(file.read_text()))
        found.append((name, content))
    return sorted(found, key=repr)


def without_times(content: object) -> object:
    """JSON, also where it stands in a column, without what depends on when it was made."""
    if isinstance(content, str) and content.startswith("{"):
        return without_times(json.loads(content))
    if isinstance(content, dict):
        return {name: without_times(value) for name, value in content.items() if name not in WHEN}
    return [without_times(value) for value in content] if isinstance(content, list) else content


def commit_of(line: str) -> object:
    (kind, action), *_ = json.loads(line).items()
    if kind == "commitInfo":
        metrics = {name: n for name, n in action.get("operationMetrics", {}).items() if "Bytes" not in name}
        # delta-rs writes them in an order of chance
        parameters = json.dumps(without_times(action.get("operationParameters", {})), sort_keys=True)
        return kind, action["operation"], UUID.sub("", parameters), metrics
    return kind, sorted(action), action.get("schemaString"), action.get("configuration")


def noisy(folder: Path) -> np.ndarray:
    """The stored tensor, from its files."""
    tables = [pq.ParquetFile(file).read() for file in folder.glob("tables/noisy_slices/draw_id=*/**/*.parquet")]
    rows = pa.concat_tables(tables).sort_by("slice").to_pylist()
    return np.array([decode_counts(row["counts"], row["bytes_per_count"]) for row in rows])


def run(config: ReleaseConfig, stage: Callable[[], object], extra: Callable[[ReleaseConfig], None] | None) -> Path:
    """Where the outputs of a stage lie now. They are made in one folder, whose name is part of every id."""
    write_base(config)
    if extra is not None:
        extra(config)
    stage()
    aside = Path(config.output).with_name(f"out-{getattr(extra, '__name__', 'base')}")
    Path(config.output).rename(aside)
    return aside


def test_a_user_outside_changes_nothing_and_one_at_the_edges_their_own_cells(
    spark: SparkSession, small_config: Small
) -> None:
    config = small_config("grid.cells_per_side=8", "privacy.test_seed=3")
    nobody = run(config, lambda: run_release(spark, config), None)
    outside = run(config, lambda: run_release(spark, config), write_outside)
    edges = run(config, lambda: collect(spark, config), write_edges)
    assert len(outputs(nobody)) > 40
    for one, other in zip(outputs(nobody), outputs(outside), strict=True):
        assert one == other
    difference = (noisy(edges) - noisy(nobody)).reshape(grid_of(config).shape)
    assert difference.sum() == np.abs(difference).sum() == config.privacy.k
    assert difference[np.ix_([0, -1], [0, -1], [0, -1])].sum() == config.privacy.k
    for table in ("noisy_slices", "ledger"):  # files, rows and their order, schemas, histories, ids
        one, other = (outputs(folder / "tables" / table, but=NOISE) for folder in (nobody, edges))
        assert one == other


def test_with_real_noise_only_the_noise_differs(spark: SparkSession, small_config: Small) -> None:
    config = small_config("grid.cells_per_side=8")
    without, within = (run(config, lambda: collect(spark, config), extra) for extra in (None, write_edges))
    assert (noisy(without) != noisy(within)).mean() > 0.5
    assert outputs(without, but=NOISE) == outputs(within, but=NOISE)
