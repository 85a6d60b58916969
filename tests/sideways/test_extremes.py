"""Nothing is read from the data but the counts: with a user at the extremes, or without, all outputs look the same."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.hostile.pings import places, write
from vdr_spark.collect.stage import collect
from vdr_spark.config import ReleaseConfig
from vdr_spark.pipeline import run_release

Small = Callable[..., ReleaseConfig]
WHEN = ("created", "recorded_at", "entry_hash")  # the hash covers the time of the entry
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FAR = 2**63 - 1


def write_base(config: ReleaseConfig) -> None:
    cells = np.random.default_rng(4).integers(0, config.domain.size, 900)
    write(config, "base", user_id=pa.array(cells % 40), **places(config.domain, cells))


def write_outside(config: ReleaseConfig) -> None:
    """Farther than anybody else in every direction, of place and of time."""
    lat = [90.0, -90.0, 1e308, -1e308, np.inf, np.nan, *[29.7604] * 4]
    lon = [180.0, -180.0, -np.inf, 1e308, np.nan, 0.0, *[-95.3698] * 4]
    ts = [FAR, -FAR - 1, 0, -1, 1, FAR, FAR, -FAR, -62_135_596_800_000_000, 253_402_300_799_999_999]
    times = pa.array(ts).cast(pa.timestamp("us", "UTC"))
    write(config, "extreme", user_id=pa.array([FAR] * len(lat)), lat=pa.array(lat), lon=pa.array(lon), ts=times)


def write_edges(config: ReleaseConfig) -> None:
    """In the four corners of the box, at the first and the last moment, more often than k."""
    grid = config.domain
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


def outputs(folder: Path) -> dict[str, object]:
    """What every file says, but for times and ids of its making."""
    found: dict[str, object] = {}
    for file in sorted(folder.rglob("*")):
        name = UUID.sub("", str(file.relative_to(folder)))
        if file.suffix == ".parquet":
            table = pq.ParquetFile(file).read()
            found[name] = table.drop_columns([column for column in WHEN if column in table.column_names])
        elif "_delta_log" in name and file.suffix == ".json":
            found[name] = [commit_of(line) for line in file.read_text().splitlines()]
        elif file.suffix == ".json":
            found[name] = json.loads(file.read_text())
        else:
            found[name] = None
    return found


def commit_of(line: str) -> object:
    (kind, action), *_ = json.loads(line).items()
    if kind == "commitInfo":
        metrics = {name: n for name, n in action.get("operationMetrics", {}).items() if "Bytes" not in name}
        return kind, action["operation"], UUID.sub("", str(action["operationParameters"])), metrics
    return kind, sorted(action), action.get("schemaString"), action.get("configuration")


def noisy(found: dict[str, object]) -> np.ndarray:
    """The stored tensor, from its files as they lie."""
    tables = [found[name] for name in sorted(found) if "noisy_slices/draw" in name and name.endswith(".parquet")]
    table = pa.concat_tables(tables).sort_by("slice")
    return np.array(table["values"].to_pylist())


def run(config: ReleaseConfig, stage: Callable[[], object], extra: Callable[[ReleaseConfig], None] | None) -> dict:
    """The outputs of a stage, always in the same folder: its name is part of every id."""
    write_base(config)
    if extra is not None:
        extra(config)
    stage()
    aside = Path(config.output).with_name(f"out-{getattr(extra, '__name__', 'base')}")
    Path(config.output).rename(aside)
    return outputs(aside)


def test_a_user_outside_changes_nothing_at_all(spark: SparkSession, small_config: Small) -> None:
    config = small_config("grid.cells=8", "privacy.test_seed=3")
    with_nobody, with_somebody = (
        run(config, lambda: run_release(spark, config), extra) for extra in (None, write_outside)
    )
    assert len(with_nobody) > 20
    assert with_nobody.keys() == with_somebody.keys()
    for name, content in with_nobody.items():
        assert content == with_somebody[name], name


def test_a_user_at_the_edges_changes_their_own_cells_by_k(spark: SparkSession, small_config: Small) -> None:
    config = small_config("grid.cells=8", "privacy.test_seed=3")
    without, within = (run(config, lambda: collect(spark, config), extra) for extra in (None, write_edges))
    difference = (noisy(within) - noisy(without)).reshape(config.domain.shape)
    assert difference.sum() == np.abs(difference).sum() == config.privacy.bound == 20
    corners = difference[[0, -1]][:, [0, -1]][:, :, [0, -1]]
    assert corners.sum() == 20
    looks_alike(without, within)


@pytest.mark.parametrize("extra", [write_edges])
def test_with_real_noise_only_the_noise_differs(
    spark: SparkSession, small_config: Small, extra: Callable[[ReleaseConfig], None]
) -> None:
    config = small_config("grid.cells=8")
    without, within = (run(config, lambda: collect(spark, config), user) for user in (None, extra))
    assert (noisy(without) != noisy(within)).mean() > 0.5
    looks_alike(without, within)


def looks_alike(one: dict, other: dict) -> None:
    """Files, rows and their order, schemas, histories, ids: all but the noisy values."""
    assert one.keys() == other.keys()
    for name, content in one.items():
        if isinstance(content, pa.Table):
            assert content.schema == other[name].schema, name
            values = [column for column in ("values",) if column in content.column_names]
            assert content.drop_columns(values) == other[name].drop_columns(values), name
        else:
            assert content == other[name], name
