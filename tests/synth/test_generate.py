"""The generators on Spark: the same pings however the work is cut, and nobody's files overwritten."""

from __future__ import annotations

from functools import reduce
from pathlib import Path

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.plans import grid_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidConfig
from vdr_spark.pings.readers import read_pings
from vdr_spark.spark.grid_columns import cell_column
from vdr_spark.synth import blocks, generate
from vdr_spark.synth.blocks import sample_block, to_batches
from vdr_spark.synth.generate import synthesize, write_synthetic


def config(path: Path, **changes: object) -> ReleaseConfig:
    tree: dict[str, object] = {
        "name": "t",
        "dataset": "t",
        "output": str(path.parent / "out"),
        "input": {"path": str(path)},
        "synth": {"pings": 20_000, "cutoff": 2_000, "seed": 5},
        "region": {"center": [29.7604, -95.3698], "side_m": 20_000},
        "grid": {"cells_per_side": 64},
        "period": {"start": "2020-01-07", "end": "2020-01-09", "timezone": "America/Chicago"},
        "privacy": {"epsilon": 1, "k": 10, "total_pings": 20_000},
    }
    return ReleaseConfig.model_validate(tree | changes)


def write_pings_of(spark: SparkSession, settings: ReleaseConfig) -> bool:
    return write_synthetic(spark, settings, grid_of(settings))


def fingerprints(*frames: DataFrame) -> list[tuple[object, ...]]:
    """Number of rows, and a sum of row hashes that does not see their order; of all frames in one job."""
    hashed = F.xxhash64("user_id", "lat", "lon", "ts").cast("decimal(38,0)")
    labelled = [pings.withColumn("frame", F.lit(number)) for number, pings in enumerate(frames)]
    by_frame = reduce(DataFrame.unionByName, labelled).groupBy("frame")
    found = by_frame.agg(F.count("*"), F.sum(hashed), F.count_distinct("user_id")).orderBy("frame").collect()
    return [tuple(row)[1:] for row in found]


def files(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", ["city", "mixture"])
def test_the_same_pings_however_the_work_is_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(generate, "_PINGS_PER_BLOCK", 400)
    settings = config(tmp_path / "p", synth={"kind": kind, "pings": 4_000, "cutoff": 2_000, "seed": 5})
    assert settings.synth is not None
    many = synthesize(spark, settings.synth, grid_of(settings))
    monkeypatch.setattr(generate, "_BLOCKS_PER_TASK", 1)
    more = synthesize(spark, settings.synth, grid_of(settings))
    assert many.rdd.getNumPartitions() != more.rdd.getNumPartitions()
    other = synthesize(spark, settings.synth.model_copy(update={"seed": 6}), grid_of(settings))
    found = fingerprints(many, more, other)
    assert found[0] == found[1] != found[2]


def test_the_settings_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    given = config(tmp_path / "p", synth={"pings": 60_000, "cutoff": 300, "exponent": 2.0, "shift": 30, "seed": 5})
    assert given.synth is not None
    pings = synthesize(spark, given.synth, grid_of(given))
    assert [f"{name} {kind}" for name, kind in pings.dtypes] == [
        "user_id bigint",
        "lat double",
        "lon double",
        "ts timestamp",
    ]
    per_user = pings.groupBy("user_id").count().toPandas()
    assert per_user["count"].sum() == pytest.approx(60_000, rel=0.1)
    assert per_user["count"].max() <= 300
    assert sorted(per_user["user_id"]) == list(range(len(per_user)))
    cell = cell_column(grid_of(given), F.col("lat"), F.col("lon"), F.col("ts"))
    assert pings.where(cell.isNull()).count() < 0.02 * 60_000


def test_instants_survive_a_session_in_another_zone(spark: SparkSession, tmp_path: Path) -> None:
    given = config(tmp_path / "p", synth={"pings": 2_000, "cutoff": 100})
    assert given.synth is not None
    kept = spark.conf.get("spark.sql.session.timeZone")
    assert kept is not None
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        pings = synthesize(spark, given.synth, grid_of(given))
        least, most = pings.agg(F.min(F.unix_micros("ts")), F.max(F.unix_micros("ts"))).first() or (0, 0)
    finally:
        spark.conf.set("spark.sql.session.timeZone", kept)
    assert grid_of(given).start.timestamp() * 1e6 <= least < most < grid_of(given).end.timestamp() * 1e6


def test_a_block_is_in_order_of_time_and_not_of_people(tmp_path: Path) -> None:
    given = config(tmp_path / "p")
    assert given.synth is not None
    pings = sample_block(generate._population(given.synth), grid_of(given), block=3, users=100)
    assert (np.diff(pings.ts_us) >= 0).all()
    assert (np.diff(pings.user) != 0).mean() > 0.5


def test_batches_are_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blocks, "_ROWS_PER_BATCH", 1000)
    given = config(tmp_path / "p")
    assert given.synth is not None
    pings = sample_block(generate._population(given.synth), grid_of(given), block=0, users=60)
    batches = list(to_batches(pings, first_user=7000))
    assert len(batches) > 1
    assert max(batch.num_rows for batch in batches) == 1000
    assert sum(batch.num_rows for batch in batches) == len(pings)
    assert min(batches[0].column(0).to_pylist()) >= 7000


def test_written_once_and_read_back(spark: SparkSession, tmp_path: Path) -> None:
    given = config(tmp_path / "p")
    assert write_pings_of(spark, given)
    first = files(tmp_path / "p")
    assert "_SUCCESS" in first
    assert given.synth is not None
    written, made = fingerprints(read_pings(spark, given.input), synthesize(spark, given.synth, grid_of(given)))
    assert written == made
    assert not write_pings_of(spark, given)
    assert files(tmp_path / "p") == first


def test_a_killed_run_is_mended(spark: SparkSession, tmp_path: Path) -> None:
    given = config(tmp_path / "p", synth={"pings": 2_000, "cutoff": 100})
    write_pings_of(spark, given)
    whole = fingerprints(read_pings(spark, given.input))
    (tmp_path / "p" / "_SUCCESS").unlink()
    next((tmp_path / "p").glob("part-*")).unlink()
    (tmp_path / "p" / "_temporary" / "0").mkdir(parents=True)
    write_pings_of(spark, given)
    assert fingerprints(read_pings(spark, given.input)) == whole


def test_a_users_data_are_never_touched(spark: SparkSession, tmp_path: Path) -> None:
    theirs = tmp_path / "p"
    theirs.mkdir()
    for name in ("part-00000.parquet", "_SUCCESS"):
        (theirs / name).write_text("precious")
        before = files(theirs)
        with pytest.raises(InvalidConfig, match="left alone"):
            write_pings_of(spark, config(theirs))
        assert files(theirs) == before
    single = tmp_path / "one.parquet"
    single.write_text("precious")
    with pytest.raises(InvalidConfig, match="left alone"):
        write_pings_of(spark, config(single))
    assert single.read_text() == "precious"


def test_a_city_of_other_settings_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_pings_of(spark, config(tmp_path / "p", synth={"pings": 500, "cutoff": 100}))
    before = files(tmp_path / "p")
    with pytest.raises(InvalidConfig, match="other settings"):
        write_pings_of(spark, config(tmp_path / "p", synth={"pings": 600, "cutoff": 100}))
    assert files(tmp_path / "p") == before
    # The grid's cells are nothing to a city.
    write_pings_of(spark, config(tmp_path / "p", synth={"pings": 500, "cutoff": 100}, grid={"cells_per_side": 32}))


def test_what_cannot_be_generated_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(InvalidConfig, match="synth"):
        write_pings_of(spark, config(tmp_path / "p", synth=None))
    with pytest.raises(InvalidConfig, match="layout"):
        write_pings_of(spark, config(tmp_path / "p", input={"path": str(tmp_path / "p"), "layout": "gowalla"}))
    assert not (tmp_path / "p").exists()
