"""Tables made, and rows added, without Spark."""

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import DeltaError

from tests.storage.test_delta_log import HALF_A_COMMIT, leave
from vdr_spark.errors import OtherVersion
from vdr_spark.storage.delta_creation import append_row_once, create_by_delta_rs
from vdr_spark.storage.delta_files import find_properties, read_rows
from vdr_spark.storage.schemas import VERSION_PROPERTY, WITHDRAWALS

ROW = {"release_id": "a-1", "withdrawn_at": datetime(2026, 1, 2, 3, 4, 5, 6, UTC), "reason": "why", "code_version": "1"}


@pytest.mark.parametrize("folder", ["withdrawals", "100% %41", "ü 東", "back\\slash"])
def test_a_table_is_made_and_a_row_added_once(tmp_path: Path, folder: str) -> None:
    path = str(tmp_path / folder)
    for _ in range(2):
        create_by_delta_rs(path, WITHDRAWALS)
    assert read_rows(path, WITHDRAWALS) == []
    for reason in ("why", "another"):
        append_row_once(path, WITHDRAWALS, "withdrawal:a-1", ROW | {"reason": reason})
    assert read_rows(path, WITHDRAWALS) == [ROW]
    append_row_once(path, WITHDRAWALS, "withdrawal:b-2", ROW | {"release_id": "b-2"})
    assert {row["release_id"] for row in read_rows(path, WITHDRAWALS)} == {"a-1", "b-2"}
    assert sorted(place.name for place in tmp_path.iterdir()) == sorted([folder, f"{folder}.lock"])


def test_the_table_says_and_keeps_its_rules(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    create_by_delta_rs(path, WITHDRAWALS)
    table = DeltaTable(path)
    assert (find_properties(path) or {}).items() >= WITHDRAWALS.properties.items()
    assert table.metadata().description == WITHDRAWALS.comment
    assert {field.name: field.metadata["comment"] for field in table.schema().fields} == {
        name: said for name, _, said in WITHDRAWALS.columns
    }
    for wrong in ({"reason": "  "}, {"reason": None}, {"release_id": None}):
        kinds = pa.schema([(name, pa.string()) for name in ROW]).set(
            1, pa.field("withdrawn_at", pa.timestamp("us", "UTC"))
        )
        with pytest.raises(DeltaError):
            write_deltalake(table, pa.Table.from_pylist([ROW | wrong], kinds), mode="append")


@pytest.mark.parametrize("left", ["_delta_log/", HALF_A_COMMIT])
def test_a_table_whose_making_was_killed_is_made(tmp_path: Path, left: str) -> None:
    leave(tmp_path / "table", left)
    create_by_delta_rs(str(tmp_path / "table"), WITHDRAWALS)
    assert read_rows(str(tmp_path / "table"), WITHDRAWALS) == []


def test_a_newer_table_is_neither_read_nor_written(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    create_by_delta_rs(path, WITHDRAWALS)
    DeltaTable(path).alter.set_table_properties({VERSION_PROPERTY: "9"}, raise_if_not_exists=False)
    with pytest.raises(OtherVersion, match="of schema version 9"):
        read_rows(path, WITHDRAWALS)
    with pytest.raises(OtherVersion, match="of schema version 9"):
        append_row_once(path, WITHDRAWALS, "withdrawal:a-1", ROW)
    assert not list((tmp_path / "table").glob("*.parquet"))
