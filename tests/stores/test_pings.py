"""Pings in S3, read by tasks themselves: the same counts to the last ping, and Spark where that cannot be."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.stores.processes import CONF, Place, finished, vdr
from tests.stores.servers import BUCKET
from vdr_spark.collect.parquet_splits import read_split, split_file
from vdr_spark.collect.source import _find_splits
from vdr_spark.config import load_config
from vdr_spark.denoise.petastorm_reader import read_slices
from vdr_spark.plan import make_plan
from vdr_spark.storage import store_access
from vdr_spark.storage.arrow_files import FileAccess
from vdr_spark.storage.delta_files import list_files
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.store_access import arrow_options, rust_options

pytestmark = [pytest.mark.stores, pytest.mark.spark]

SEEDED = "privacy.test_seed=5"
OUR_NAMES = {name: name for name in ("user_id", "lat", "lon", "ts")}


@pytest.fixture(scope="module")
def in_store(place: Place, pings: str) -> str:  # noqa: ARG001  the server must run
    """The generated pings, uploaded: plain files, under a name that wants encoding."""
    target = f"s3://{BUCKET}/{uuid4().hex}/a b%20c=d"
    fs, inside = filesystem(target)
    for file in sorted(Path(pings).iterdir()):
        fs.put_file(str(file), f"{inside}/{file.name}")
    return target.replace("s3://", "s3a://")


def collected(place: Place, path: str, reader: str, *others: str) -> tuple[np.ndarray, str]:
    """The stored tensor of a seeded run, which holds the same noise whoever reads, and what was said."""
    folder = uuid4().hex
    settings = place.settings(folder, f"input.path={path}", f"input.reader={reader}", SEEDED, *others)
    code, said = finished(vdr("collect", settings))
    assert code == 0, said
    plan = make_plan(load_config(CONF, settings))
    files = list_files(str(plan.output.table("noisy_slices")))
    return read_slices(files, plan.grids[0]), said


def test_tasks_count_what_spark_counts(place: Place, in_store: str) -> None:
    by_tasks, _ = collected(place, in_store, "direct")
    by_spark, _ = collected(place, in_store, "spark")
    np.testing.assert_array_equal(by_tasks, by_spark)


def test_a_delta_table_is_read_by_its_live_files(place: Place, pings: str) -> None:
    from deltalake import write_deltalake

    table = f"s3://{BUCKET}/{uuid4().hex}/pings"
    rows = pa.concat_tables(pq.ParquetFile(file).read() for file in sorted(Path(pings).glob("*.parquet")))
    for part in (rows, rows[: len(rows) // 2]):  # the second commit takes the first one's files away
        write_deltalake(table, part, mode="overwrite", storage_options=rust_options(table))
    fs, inside = filesystem(table)
    fs.put_file(str(next(Path(pings).glob("_vdr_synth.json"))), f"{inside}/_vdr_synth.json")
    path = table.replace("s3://", "s3a://")
    by_tasks, _ = collected(place, path, "direct", "input.format=delta")
    by_spark, _ = collected(place, path, "spark", "input.format=delta")
    np.testing.assert_array_equal(by_tasks, by_spark)


def test_files_that_tasks_do_not_reach_are_left_to_spark(spark: Any, place: Place, in_store: str) -> None:
    files = uris_of(in_store)
    assert _find_splits(spark, files)
    assert _find_splits(spark, [f"{files[0]}.gone"]) is None
    if place.server.name == "moto":
        return  # it believes every key
    try:
        store_access.learn({"fs.s3a.secret.key": "another"})
        assert _find_splits(spark, files) is None
    finally:
        store_access.learn(place.server.hadoop)


def uris_of(folder: str) -> list[str]:
    """The files of pings in a folder, as Spark names them."""
    fs, inside = filesystem(folder)
    return [f"s3a://{quote(name)}" for name in fs.ls(inside, detail=False) if name.endswith(".parquet")]


def test_splits_are_read_once_from_a_store(in_store: str, pings: str) -> None:
    access = FileAccess(arrow_options(in_store))
    batches = [
        batch
        for uri in uris_of(in_store)
        for split in split_file(uri, access)
        for batch in read_split(split, OUR_NAMES, "bigint")
    ]
    local = sum(pq.ParquetFile(file).metadata.num_rows for file in Path(pings).glob("*.parquet"))
    assert sum(batch.num_rows for batch in batches) == local


def test_keys_are_never_shown(in_store: str) -> None:
    access = FileAccess(arrow_options(in_store))
    assert dict(access.s3 or ())["secret_key"] == "not-a-secret"
    assert "not-a-secret" not in repr(access) + str(access)


def test_other_stores_go_through_spark(spark: Any) -> None:
    assert _find_splits(spark, ["abfss://c@a.dfs.core.windows.net/x.parquet"]) is None
