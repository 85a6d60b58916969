"""Delta's log by conditional puts: a commit number is given out once, and Spark reads what we wrote."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.storage.folders import log_on_disk
from vdr_spark.errors import DamagedTable, OtherVersion
from vdr_spark.storage.delta_schema import describe_table
from vdr_spark.storage.schemas import CELLS, LEDGER, NOISY_SLICES, RELEASES, VERSION_PROPERTY, Table
from vdr_spark.storage.slice_bytes import SLICE_SCHEMA, encode_slice
from vdr_spark.storage.store_log import LiveFile, StoreLog, open_log, open_log_to_write
from vdr_spark.storage.tables import create_if_missing, find_staged, open_table, stage_files


def write_file(log: StoreLog, name: str, slices: list[int]) -> LiveFile:
    target = Path(log.place, name)
    target.parent.mkdir(parents=True, exist_ok=True)
    rows = pa.Table.from_batches([encode_slice(number, np.array([1, 2])) for number in slices])
    rows = rows.append_column("units_per_ping", pa.array([1] * len(slices)))
    pq.write_table(rows.append_column("protected", pa.array([True] * len(slices))), target)
    return LiveFile(name, target.stat().st_size, 0)


def test_a_commit_is_made_once(tmp_path: Path) -> None:
    logs = [log_on_disk(tmp_path / "table") for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda log: log.commit(0, describe_table(NOISY_SLICES), "x"), logs)).count(True) == 1
        for number in range(1, 10):
            assert list(pool.map(lambda log, n=number: log.commit(n, [], "x"), logs)).count(True) == 1
    assert logs[0].version() == 9


def test_files_become_live_once_whoever_comes_between(tmp_path: Path) -> None:
    mine, others = log_on_disk(tmp_path / "table"), log_on_disk(tmp_path / "table")
    assert mine.version() is None
    assert not mine.has("draw:a")
    mine.create(NOISY_SLICES)
    others.create(NOISY_SLICES)
    assert mine.version() == 0
    assert others.append_once([write_file(others, "draw_id=b/b.parquet", [0])], "draw:b")
    assert mine.append_once([write_file(mine, "draw_id=a/x/a.parquet", [0])], "draw:a")
    assert not others.append_once([write_file(others, "draw_id=a/y/a.parquet", [0])], "draw:a")
    assert mine.version() == 2
    assert mine.live_files() == ["draw_id=a/x/a.parquet", "draw_id=b/b.parquet"]


def test_eight_at_once_lose_nothing(tmp_path: Path) -> None:
    log_on_disk(tmp_path / "table").create(NOISY_SLICES)

    def append(number: int) -> bool:
        log = log_on_disk(tmp_path / "table")
        return log.append_once([write_file(log, f"draw_id={number}/a.parquet", [0])], f"draw:{number}")

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(append, range(8)))
    log = log_on_disk(tmp_path / "table")
    assert log.version() == 8
    assert len(log.live_files()) == 8


@pytest.mark.parametrize("place", ["/a/b", "hdfs://name/x", "memory://x"])
def test_elsewhere_spark_commits(place: str) -> None:
    assert open_log(place) is None
    assert open_log_to_write(place) is None


@pytest.mark.parametrize("table", [LEDGER, NOISY_SLICES, RELEASES, CELLS], ids=lambda table: table.name)
def test_a_table_is_made_as_spark_makes_it(spark: SparkSession, tmp_path: Path, table: Table) -> None:
    create_if_missing(spark, f"{tmp_path}/{table.name}", table)
    log = Path(tmp_path, table.name, "_delta_log/00000000000000000000.json").read_text().splitlines()
    made = {name: action for line in log for name, action in json.loads(line).items() if name != "commitInfo"}
    ours = {name: action for line in describe_table(table) for name, action in line.items()}
    for metadata in (made["metaData"], ours["metaData"]):
        del metadata["id"], metadata["createdTime"]
        metadata["schemaString"] = json.loads(metadata["schemaString"])
    assert ours == made


def test_spark_writes_aside_and_reads_what_was_committed(spark: SparkSession, tmp_path: Path) -> None:
    log = log_on_disk(tmp_path / "table")
    log.create(NOISY_SLICES)
    rows = [(0, bytearray(b"ab"), 2, 1, True), (1, bytearray(b"cd"), 2, 1, True)]
    frame = spark.createDataFrame(rows, f"{SLICE_SCHEMA}, units_per_ping BIGINT, protected BOOLEAN")
    files = stage_files(frame, log, "draw_id=a/first")
    assert open_table(spark, log.place, NOISY_SLICES).count() == 0
    Path(log.place, "draw_id=a/first/_temporary").mkdir()
    Path(log.place, "draw_id=a/first/_temporary/late.parquet").write_text("of a task that came too late")
    assert find_staged(log, "draw_id=a/first") == files
    log.append_once(files, "draw:a")
    found = open_table(spark, log.place, NOISY_SLICES).orderBy("slice").collect()
    assert [(row.draw_id, row.slice, row.counts) for row in found] == [("a", 0, b"ab"), ("a", 1, b"cd")]


def test_a_table_that_was_given_other_features_is_not_written(tmp_path: Path) -> None:
    log = log_on_disk(tmp_path / "table")
    log.create(NOISY_SLICES)
    features = ["appendOnly", "checkConstraints", "inCommitTimestamp"]
    protocol = {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": features}
    log.commit(1, [{"protocol": protocol}], "UPGRADE PROTOCOL")
    with pytest.raises(DamagedTable, match="now asks for more \\(inCommitTimestamp\\)"):
        log_on_disk(tmp_path / "table").append_once([], "draw:a")


def older(table: Table, **changes: str) -> Table:
    """A table as it was in its first version, with other types where a test says so."""
    columns = tuple((name, changes.get(name, kind), said) for name, kind, said in table.columns)
    return replace(
        table, columns=tuple(c for c in columns if c[0] not in table.later_than(1)), version=1, later=(), optional=None
    )


@pytest.mark.parametrize("table", [LEDGER, RELEASES], ids=lambda table: table.name)
def test_an_older_table_gets_the_columns_that_it_lacks_and_stays_the_same(tmp_path: Path, table: Table) -> None:
    log = log_on_disk(tmp_path / "table")
    log.create(older(table))
    first = json.loads((tmp_path / "table/_delta_log/00000000000000000000.json").read_text().splitlines()[1])
    (tmp_path / "table/_delta_log/00000000000000000001.json").write_text(
        json.dumps({"metaData": first["metaData"] | {"configuration": first["metaData"]["configuration"] | {"a": "b"}}})
    )
    assert log.version() == 1
    assert not log.is_current(table)
    log_on_disk(tmp_path / "table").create(table)
    log_on_disk(tmp_path / "table").create(table)  # and once is enough
    assert log.version() == 2
    assert log.is_current(table)
    made = json.loads((tmp_path / "table/_delta_log/00000000000000000002.json").read_text().splitlines()[1])["metaData"]
    assert (made["id"], made["configuration"]["a"]) == (first["metaData"]["id"], "b")
    assert made["configuration"][VERSION_PROPERTY] == str(table.version)
    assert [field["name"] for field in json.loads(made["schemaString"])["fields"]] == [
        *(name for name in table.names if name not in table.later_than(1)),
        *(name for name in table.names if name in table.later_than(1)),
    ]


def test_a_table_of_other_types_is_not_made_ours(tmp_path: Path) -> None:
    log = log_on_disk(tmp_path / "table")
    log.create(older(RELEASES, k="STRING"))
    with pytest.raises(OtherVersion, match=r"\(k\), and cannot be brought to schema version 4 in place"):
        log.create(RELEASES)
    assert log.version() == 0
