"""Generated pings for the benchmarks: made once, and kept outside the repository."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.grid import Grid
from vdr_spark.plan import make_plan
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.synth.generate import write_synthetic

CONF = Path(__file__).resolve().parents[1] / "conf" / "houston.yaml"
PINGS_PER_USER = "exponent: 2.018, shift: 25.5, cutoff: 30000"  # a mean of 150, and a few people with very many
MICROSECONDS = {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}


def configuration(
    path: Path,
    k: int,
    rows: int,
    bounding: str = "sample",
    reader: str = "auto",
    synth: str = "null",
    form: str = "parquet",
) -> ReleaseConfig:
    overrides = {
        "input.path": path,
        "input.layout": "vdr",
        "input.reader": reader,
        "input.format": form,
        "output": path.parent / "nothing-is-written-here",
        "synth": synth,
        "privacy.lambda": "null",
        "privacy.k": k,
        "privacy.total_pings": rows,
        "privacy.bounding": bounding,
    }
    if bounding == "l2":  # k is the norm, and the price is in rho
        overrides |= {"privacy.k": "null", "privacy.norm": k, "privacy.epsilon": "null", "privacy.budget": "null"}
        overrides |= {"privacy.rho": "1/2", "privacy.delta": "1e-9"}
    return load_config(CONF, [f"{key}={value}" for key, value in overrides.items()])


def cached_pings(spark: SparkSession, cache: Path, rows: int, order: str, ids: str) -> Path:
    """A folder of about `rows` generated pings, made on first use."""
    path = cache / "-".join([order, str(rows), *(["text"] if ids == "text" else [])])
    if is_written(path):
        return path
    people = cache / f"people-{rows}"
    say(f"making {people}, unless it is there ...")
    config = configuration(people, 1, rows, synth=f"{{pings: {rows}, {PINGS_PER_USER}}}")
    write_synthetic(spark, config, make_plan(config).grids[0])
    if path == people:
        return path
    say(f"making {path} ...")
    pings = spark.read.parquet(str(people))
    files = len(pings.inputFiles())
    if ids == "text":
        pings = pings.withColumn("user_id", F.md5(F.col("user_id").cast("string")))
    if order == "time":  # as a feed arrives; the generator writes people in blocks
        pings = pings.repartitionByRange(files, "ts").sortWithinPartitions("ts")
    write(spark, pings, path)
    return path


def scattered(spark: SparkSession, rows: int, grid: Grid, user: Column) -> DataFrame:
    """Pings at random places and times inside the grid."""
    box, period_us = grid.box, grid.slice_seconds * grid.slices * 1_000_000
    lat = F.lit(box.south) + F.rand(1) * F.lit(box.north - box.south)
    lon = F.lit(box.west) + F.rand(2) * F.lit(box.east - box.west)
    us = F.lit(round(grid.start.timestamp()) * 1_000_000) + F.floor(F.rand(3) * F.lit(period_us))
    columns = {"user_id": user.cast("bigint"), "lat": lat, "lon": lon, "ts": F.timestamp_micros(us)}
    return spark.range(0, rows, 1, 8).select(*(column.alias(name) for name, column in columns.items()))


def write(spark: SparkSession, pings: DataFrame, path: Path) -> None:
    with settings_of_spark(spark, MICROSECONDS):
        pings.write.mode("overwrite").parquet(str(path))


def as_delta(spark: SparkSession, path: Path) -> Path:
    """The same files as a Delta table, made anew: linked beside, and converted."""
    table = path.with_name(f"{path.name}-delta")
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(path, table, copy_function=os.link)
    spark.sql(f"CONVERT TO DELTA parquet.`{table}`")
    return table


def is_written(path: Path) -> bool:
    return (path / "_SUCCESS").exists()


def size_of(spark: SparkSession, path: Path) -> tuple[int, int]:
    """Rows and users that are really there."""
    say(f"counting {path} ...")
    per_user = spark.read.parquet(str(path)).groupBy("user_id").count()
    row = per_user.agg(F.sum("count"), F.count("*")).first()
    assert row is not None
    return int(row[0]), int(row[1])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
