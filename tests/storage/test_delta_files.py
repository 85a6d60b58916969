"""Delta tables without Spark: columns as NumPy, one partition, and the refusal of what cannot be read rightly."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, Field, Schema, write_deltalake

from vdr_spark.errors import DamagedTable, OtherVersion
from vdr_spark.storage.delta_files import (
    NewFile,
    append_files_once,
    is_delta_table,
    list_files,
    read_batches,
)
from vdr_spark.storage.schemas import Table


def rows(*arguments: object, **partition: str) -> list[dict[str, object]]:
    batches = read_batches(*arguments, **partition)  # type: ignore[arg-type]
    return sorted((row for batch in batches for row in batch.to_pylist()), key=lambda row: str(row["n"]))


@pytest.mark.parametrize("folder", ["plain", "%41 # ü"])
def test_one_partition_and_some_columns(tmp_path: Path, folder: str) -> None:
    table = pa.table({"key": ["a", "b", "a%41 b"], "n": [1, 2, 3], "other": [0.5, 1.5, 2.5]})
    write_deltalake(tmp_path / "t", table, partition_by=["key"])
    (tmp_path / "t").rename(tmp_path / folder)
    path = str(tmp_path / folder)
    assert is_delta_table(path)
    assert not is_delta_table(f"{path}-not")
    assert [row["n"] for row in rows(path)] == [1, 2, 3]
    assert rows(path, ["n"], key="b") == [{"n": 2}]
    assert rows(path, ["n"], key="a%41 b") == [{"n": 3}]
    assert rows(path, ["n"], key="c") == []
    with pytest.raises(DamagedTable, match="cannot be read"):
        rows(f"{path}-not")


def test_what_was_removed_from_the_table_is_not_read(tmp_path: Path) -> None:
    for mode, number in (("append", 1), ("append", 2), ("overwrite", 3)):
        write_deltalake(tmp_path, pa.table({"n": [number]}), mode=mode)  # type: ignore[call-overload]
    assert len(list(tmp_path.glob("*.parquet"))) == 3
    assert rows(str(tmp_path)) == [{"n": 3}]


def test_a_table_with_masked_rows_is_refused(tmp_path: Path) -> None:
    """Deletion vectors: the files still hold the rows that are gone."""
    write_deltalake(tmp_path, pa.table({"n": [1]}))
    features = ["deletionVectors"]
    protocol = {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": features,
        "writerFeatures": features,
    }
    (tmp_path / "_delta_log/00000000000000000001.json").write_text(json.dumps({"protocol": protocol}))
    with pytest.raises(DamagedTable, match="now needs version 3; read it by Spark"):
        rows(str(tmp_path))


PLAIN = Table(
    "plain",
    "A table of a test.",
    (("part", "STRING", "of what"), ("number", "INT", "which"), ("value", "FLOAT", "how much")),
    {},
    partition="part",
)


def plain_table(path: Path, value: str = "float") -> str:
    """Make the table, by delta-rs."""
    fields = [Field("part", "string"), Field("number", "integer"), Field("value", value)]
    DeltaTable.create(str(path), Schema(fields), partition_by=["part"])
    return str(path)


def write_part(folder: str, part: str) -> list[NewFile]:
    """Write a file that is not live yet."""
    file = Path(folder, f"part={part}", "a.parquet")
    file.parent.mkdir(parents=True)
    rows = pa.table({"number": pa.array([1, 2], pa.int32()), "value": pa.array([0.5, 2.0], pa.float32())})
    pq.write_table(rows, file)
    return [NewFile(f"part={part}/a.parquet", file.stat().st_size, 0, '{"numRecords": 2}')]


@pytest.mark.parametrize("folder", ["table", "100% %41"])
def test_files_become_live_once(tmp_path: Path, folder: str) -> None:
    path, calls = plain_table(tmp_path / "table"), []
    if folder != "table":
        (tmp_path / "table").rename(tmp_path / folder)
        path = str(tmp_path / folder)

    def write() -> list[NewFile]:
        calls.append(1)
        return write_part(path, "a")

    for _ in range(2):
        append_files_once(path, PLAIN, "release:a", {"part": "a"}, write)
    assert len(calls) == 1
    (batch,) = read_batches(path, part="a")
    assert batch.column("value").to_pylist() == [0.5, 2.0]
    append_files_once(path, PLAIN, "release:b", {"part": "b"}, lambda: write_part(path, "b"))
    assert len(list_files(path)) == 2


def test_files_of_a_write_that_failed_are_not_live(tmp_path: Path) -> None:
    path = plain_table(tmp_path / "table")

    def fail() -> list[NewFile]:
        write_part(path, "a")
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        append_files_once(path, PLAIN, "release:a", {"part": "a"}, fail)
    assert list_files(path) == []


def test_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    path = plain_table(tmp_path / "table", "double")
    with pytest.raises(OtherVersion, match=r"columns of another version.*run `vdr publish` again"):
        append_files_once(path, PLAIN, "release:a", {"part": "a"}, lambda: pytest.fail("was written"))
