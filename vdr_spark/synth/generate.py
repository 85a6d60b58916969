"""Synthetic pings on Spark: a city, or the paper's mixture, of any size.

People are made in blocks. Block i is drawn from a generator seeded by (seed, i) alone, so the pings are the
same however Spark cuts the work and however often it repeats a task, and no row passes the driver.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from vdr_spark.config import ReleaseConfig, absolute
from vdr_spark.config.settings import SynthSettings
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Grid
from vdr_spark.spark.session import settings_of_spark
from vdr_spark.storage.files import exists, filesystem, read_json, write_json
from vdr_spark.synth.mixture import Mixture
from vdr_spark.synth.people import Town
from vdr_spark.synth.pings import Pings
from vdr_spark.synth.power_law import PowerLaw
from vdr_spark.workers import in_worker

_SCHEMA = "user_id bigint, lat double, lon double, ts timestamp"
_PINGS_A_BLOCK = 150_000  # expected: the arrays of a block fit a small worker, and NumPy's calls pay off
_BLOCKS_A_TASK = 16
_ROWS_A_BATCH = 50_000
_MARKER = "_vdr_synth.json"  # a leading underscore: Spark does not read it as data
_Make = Callable[[np.random.Generator, int], Pings]


def synthesize(spark: SparkSession, settings: SynthSettings, grid: Grid) -> DataFrame:
    """`user_id bigint, lat, lon, ts` of made-up people in the grid's box and period.

    About `settings.pings` rows: the number of people is fixed, that of their pings is drawn. Rows come in
    blocks of people, by time within a block. Less than 2 % of a city's pings leave the box, by highway.
    """
    law = _law(settings)
    users, per_block = law.users_for(settings.pings), _users_a_block(law)
    blocks = math.ceil(users / per_block)
    tasks = max(min(blocks, 8), math.ceil(blocks / _BLOCKS_A_TASK))

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in batch.column(0).to_pylist():
                first = block * per_block
                pings = draw_block(settings, grid, block, min(per_block, users - first))
                yield from _batches(pings, first)

    return spark.range(0, blocks, 1, tasks).mapInArrow(in_worker(make), _SCHEMA)


def draw_block(settings: SynthSettings, grid: Grid, block: int, users: int) -> Pings:
    """The pings of one block of people, by time."""
    rng = np.random.Generator(np.random.PCG64([settings.seed, block]))
    return _maker(settings.model_dump_json(), grid)(rng, users).by_time()


@lru_cache(maxsize=4)
def _maker(settings_json: str, grid: Grid) -> _Make:
    """What makes a block, planned once a Python worker. Settings as text, since they hash."""
    settings = SynthSettings.model_validate_json(settings_json)
    law = _law(settings)
    if settings.kind == "city":
        town = Town.of(settings.seed, grid)
        return lambda rng, users: town.block(rng, users, law)
    mixture = Mixture.plan(settings.seed, settings.components, settings.weights, settings.sigma_cells, grid)
    return lambda rng, users: mixture.block(rng, users, law, grid)


def _law(settings: SynthSettings) -> PowerLaw:
    return PowerLaw(settings.exponent, settings.shift, settings.cutoff)


def _users_a_block(law: PowerLaw) -> int:
    return max(1, round(_PINGS_A_BLOCK / law.mean))


def _batches(pings: Pings, first_user: int) -> Iterator[pa.RecordBatch]:
    for begin in range(0, len(pings), _ROWS_A_BATCH):
        rows = slice(begin, begin + _ROWS_A_BATCH)
        yield pa.RecordBatch.from_arrays(
            [
                pa.array(pings.user[rows] + first_user),
                pa.array(pings.lat[rows]),
                pa.array(pings.lon[rows]),
                pa.array(pings.ts_us[rows], pa.timestamp("us", "UTC")),
            ],
            names=["user_id", "lat", "lon", "ts"],
        )


def write_synthetic(spark: SparkSession, config: ReleaseConfig) -> bool:
    """Write the configuration's synthetic pings as Parquet to `input.path`, unless they are there already.

    A run that was killed is mended by running again: what it left is removed first. Anything at the path that
    was not written by this function and from these settings is refused, and stays as it is. Returns False
    where the pings were there and nothing was done.
    """
    settings = _settings_of(config)
    path, recipe = absolute(config.input.path), _recipe(settings, config.domain)
    if _complete(path, recipe):
        return False
    write_json(posixpath.join(path, _MARKER), recipe)
    # 64-bit microseconds: Spark's default, INT96, is deprecated and takes every reader longer.
    with settings_of_spark(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        synthesize(spark, settings, config.domain).write.mode("append").parquet(path)
    return True


def is_generated(path: str) -> bool:
    """Whether the pings at a path were written by `write_synthetic`: then their truth is nobody's secret."""
    return exists(posixpath.join(absolute(path), _MARKER))


def _settings_of(config: ReleaseConfig) -> SynthSettings:
    if config.synth is None:
        raise InvalidConfig("synth: is missing, so there is nothing to generate; see conf/demo.yaml for one")
    plain = config.input.layout == "vdr" and config.input.format in (None, "parquet") and not config.input.columns
    if not plain:
        raise InvalidConfig(
            "input: generated pings are Parquet in the layout vdr; remove input.layout, format and columns"
        )
    return config.synth


def _recipe(settings: SynthSettings, grid: Grid) -> dict[str, object]:
    """All that decides what is written. The cells matter to the mixture only, whose deviation counts them."""
    box = [grid.box.south, grid.box.west, grid.box.north, grid.box.east]
    cells = list(grid.shape) if settings.kind == "mixture" else None
    period = [grid.start.isoformat(), grid.end.isoformat()]
    return {"synth": settings.model_dump(mode="json"), "box": box, "period": period, "cells": cells}


def _complete(path: str, recipe: dict[str, object]) -> bool:
    """Whether the pings are there. If not, the path is left free of everything but our own marker."""
    if not exists(path):
        return False
    fs, inside = filesystem(path)
    names = [posixpath.basename(entry.rstrip("/")) for entry in fs.ls(inside, detail=False)]
    if not names:
        return False
    if _MARKER not in names:  # `ls` of a file is the file
        raise InvalidConfig(
            f"input.path: {path} holds something that was not generated here, and is left alone; "
            "choose another input.path for generated pings, or remove `synth` to read what is there"
        )
    if read_json(posixpath.join(path, _MARKER)) != recipe:
        raise InvalidConfig(
            f"input.path: {path} was generated from other settings (see {_MARKER} in it), and is left alone; "
            "choose another input.path, or remove that folder"
        )
    if "_SUCCESS" in names:
        return True
    for name in names:
        if name.startswith(("part-", ".part-", "_temporary")):
            fs.rm(posixpath.join(inside, name), recursive=True)
    return False
