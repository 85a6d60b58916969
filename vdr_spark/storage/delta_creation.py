"""Making a Delta table, and adding a row to it, on a local disk without Spark; the same tables as Spark makes."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from vdr_spark.storage.delta_files import NewFile, append_files_once, is_delta_table, plain_name
from vdr_spark.storage.delta_log import remove_log_without_commit
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.schemas import Table

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import Field

_KINDS = {"STRING": "string", "TIMESTAMP": "timestamp"}  # as delta-rs names them; more when a table asks for more
_WRITER_VERSION = {"delta.minWriterVersion": "3"}  # from which on writers know of CHECK constraints


def create_by_delta_rs(path: str, table: Table) -> None:
    """Make an append-only table with its comments, constraints and version at a local path, unless it is there."""
    from deltalake import DeltaTable, Schema

    with exclusive(f"{path}.lock"):
        if is_delta_table(path):
            return
        remove_log_without_commit(path)
        os.makedirs(f"{path}/_delta_log", exist_ok=True)
        with plain_name(path) as plain:
            DeltaTable.create(
                plain,
                Schema([_field(table, *column) for column in table.columns]),
                description=table.comment,
                configuration=table.properties | _WRITER_VERSION,
                raise_if_key_not_exists=False,  # the version of our columns is no property that delta-rs knows
            )


def _field(table: Table, name: str, kind: str, comment: str) -> Field:
    from deltalake import Field
    from deltalake.schema import PrimitiveType

    return Field(name, PrimitiveType(_KINDS[kind]), nullable=not table.rule(name), metadata={"comment": comment})


def append_row_once(path: str, table: Table, transaction: str, row: Mapping[str, Any]) -> None:
    """Append one row to a table at a local path in one atomic commit; once under the same transaction name.

    delta-rs commits the file as it is: that the row keeps the table's rules is for the caller to see to.
    """
    append_files_once(path, table, transaction, {}, lambda: [_write_row(path, table, row)])


def _write_row(path: str, table: Table, row: Mapping[str, Any]) -> NewFile:
    import pyarrow as pa
    import pyarrow.parquet as pq

    fields = [pa.field(name, _arrow_type(kind), nullable=not table.rule(name)) for name, kind, _ in table.columns]
    name = f"part-{uuid4()}.parquet"
    file = Path(path, name)
    pq.write_table(pa.Table.from_pylist([dict(row)], pa.schema(fields)), file)
    found = file.stat()
    return NewFile(name, found.st_size, found.st_mtime_ns // 1_000_000, '{"numRecords":1}')


def _arrow_type(kind: str) -> pa.DataType:
    import pyarrow as pa

    return {"STRING": pa.string(), "TIMESTAMP": pa.timestamp("us", tz="UTC")}[kind]
