"""Synthetic pings on Spark: a city, or the paper's mixture, of any size.

People are made in blocks (`synth.blocks`), the same however Spark cuts the work and however often it repeats a task,
and no row passes the driver.
"""

from __future__ import annotations

import math
import posixpath
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from vdr_spark.config import ReleaseConfig
from vdr_spark.config.settings import SynthSettings
from vdr_spark.errors import InvalidConfig
from vdr_spark.grid import Grid
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.storage.files import exists, filesystem, read_json, write_json
from vdr_spark.storage.paths import absolute
from vdr_spark.synth.blocks import Population, sample_block, to_batches
from vdr_spark.synth.power_law import PowerLaw
from vdr_spark.workers import in_worker

_SCHEMA = "user_id bigint, lat double, lon double, ts timestamp"
_PINGS_PER_BLOCK = 150_000  # expected: the arrays of a block fit a small worker, and NumPy's calls pay off
_BLOCKS_PER_TASK = 16
_MARKER = "_vdr_synth.json"  # a leading underscore: Spark does not read it as data


def synthesize(spark: SparkSession, settings: SynthSettings, grid: Grid) -> DataFrame:
    """Generate `user_id bigint, lat, lon, ts` of made-up people in the grid's box and period.

    There are about `settings.pings` rows: the number of people is fixed, that of their pings is sampled. Rows come in
    blocks of people, by time within a block. Less than 2 % of a city's pings leave the box, by highway.
    """
    law = _population(settings).law
    users, per_block = law.users_for(settings.pings), max(1, round(_PINGS_PER_BLOCK / law.mean))
    blocks = math.ceil(users / per_block)
    tasks = max(min(blocks, 8), math.ceil(blocks / _BLOCKS_PER_TASK))

    population = _population(settings)  # another one: tasks need not be sent the tables that `law` keeps

    def make(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for block in batch.column(0).to_pylist():
                first = block * per_block
                pings = sample_block(population, grid, block, min(per_block, users - first))
                yield from to_batches(pings, first)

    return spark.range(0, blocks, 1, tasks).mapInArrow(in_worker(make), _SCHEMA)


def _population(settings: SynthSettings) -> Population:
    law = PowerLaw(settings.exponent, settings.shift, settings.cutoff)
    return Population(settings.kind, settings.seed, law, settings.components, settings.weights, settings.sigma_cells)


def write_synthetic(spark: SparkSession, config: ReleaseConfig, grid: Grid) -> bool:
    """Write the configuration's synthetic pings as Parquet to `input.path`, unless they are there already.

    A run that was killed is mended by running again: what it left is removed first. Anything at the path that
    was not written by this function and from these settings is refused, and stays as it is. Returns False
    where the pings were there and nothing was done.
    """
    if is_complete(config, grid):
        return False
    settings = _require_synth(config)
    assert config.input.path is not None
    path, recipe = absolute(config.input.path), _recipe(settings, grid)
    _remove_parts(path)
    write_json(posixpath.join(path, _MARKER), recipe)
    # 64-bit microseconds: Spark's default, INT96, is deprecated and takes every reader longer.
    with settings_of_spark(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS"}):
        synthesize(spark, settings, grid).write.mode("append").parquet(path)
    return True


def is_generated(path: str | None) -> bool:
    """Tell whether pings were written by `write_synthetic`, to a path: then their truth is nobody's secret."""
    return path is not None and exists(posixpath.join(absolute(path), _MARKER))


def _require_synth(config: ReleaseConfig) -> SynthSettings:
    if config.synth is None:
        raise InvalidConfig("synth: is missing, so there is nothing to generate; see conf/demo.yaml for one")
    if config.input.path is None:
        raise InvalidConfig(
            f"synth: generated pings are written to input.path, and the input is {config.input.location}; give a path, "
            "or remove `synth`"
        )
    plain = config.input.layout == "vdr" and config.input.format in (None, "parquet") and not config.input.columns
    if not plain:
        raise InvalidConfig(
            "input: generated pings are Parquet in the layout vdr; remove input.layout, format and columns"
        )
    return config.synth


def _recipe(settings: SynthSettings, grid: Grid) -> dict[str, object]:
    """Return all that decides what is written. The cells matter to the mixture only, whose deviation counts them."""
    box = [grid.box.south, grid.box.west, grid.box.north, grid.box.east]
    cells = list(grid.shape) if settings.kind == "mixture" else None
    period = [grid.start.isoformat(), grid.end.isoformat()]
    return {"synth": settings.model_dump(mode="json"), "box": box, "period": period, "cells": cells}


def is_complete(config: ReleaseConfig, grid: Grid) -> bool:
    """Tell whether the pings that a configuration describes are there; what lies there in their stead is refused."""
    settings = _require_synth(config)
    assert config.input.path is not None
    path, recipe = absolute(config.input.path), _recipe(settings, grid)
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
    return "_SUCCESS" in names


def _remove_parts(path: str) -> None:
    """Leave the path free of everything but our own marker: of what a killed run wrote."""
    if not exists(path):
        return
    fs, inside = filesystem(path)
    for name in [posixpath.basename(entry.rstrip("/")) for entry in fs.ls(inside, detail=False)]:
        if name.startswith(("part-", ".part-", "_temporary")):
            fs.rm(posixpath.join(inside, name), recursive=True)
