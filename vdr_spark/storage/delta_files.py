"""Delta tables without Spark: delta-rs reads the log, pyarrow the files.

delta-rs' own way from a table to pyarrow needs pyarrow 16, so it is asked for the names of the files only. On a local
disk nothing else is needed. In an object store log and files are read with the credentials of `storage.store_access`.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fsspec.implementations.local import LocalFileSystem

from vdr_spark.arrow_columns import to_rows
from vdr_spark.errors import DamagedTable, OtherVersion
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.paths import file_path
from vdr_spark.storage.schemas import Table
from vdr_spark.storage.store_access import rust_options
from vdr_spark.storage.versions import require_known

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from deltalake import DeltaTable

_READER_VERSION = 1  # files as they are; beyond it rows may be masked or columns renamed, and we would read nonsense
_ROWS_PER_BATCH = 1 << 18


def is_delta_table(path: str) -> bool:
    """Return whether a Delta table was committed at an absolute path or a URI."""
    return find_properties(path) is not None


def read_batches(path: str, columns: Sequence[str] | None = None, **partition: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table, all columns or some, of one partition where it is named: `release_id="a"`.

    One batch at a time: memory holds a few of them, never the table. `DamagedTable` where it cannot be read.
    """
    with naming_damage(path):
        for file in _files(path, partition):
            yield from _read_file(file, columns)


def read_rows(path: str, table: Table) -> list[dict[str, Any]]:
    """Return all rows of a small table, moments in UTC; none where there is no table.

    Refused where it is newer than this software; columns that came after its version are None.
    """
    if find_schema_version(path, table) is None:
        return []
    # A table that was brought up to date has older files, too.
    lacking = dict.fromkeys(table.later_than(1))
    return [lacking | row for batch in read_batches(path) for row in to_rows(batch)]


def find_schema_version(path: str, table: Table) -> int | None:
    """Return a table's schema version; None where there is no table. Refused where this software does not know it."""
    properties = find_properties(path)
    return None if properties is None else require_known(path, table, properties)


def find_properties(path: str) -> dict[str, str] | None:
    """Return what Delta keeps of a table beside its columns; None where there is no table."""
    from deltalake.exceptions import TableNotFoundError

    with naming_damage(path):
        try:
            with open_log(file_path(path)) as table:
                return dict(table.metadata().configuration)
        except TableNotFoundError:
            return None


def list_files(path: str, **partition: str) -> list[str]:
    """Return where the live files of a table are, of one partition where it is named; none where there is no table."""
    if not is_delta_table(path):
        return []
    with naming_damage(path):
        return sorted(_files(path, partition))


@dataclass(frozen=True)
class NewFile:
    """A file that was written into a table's folder, and is to be live."""

    path: str  # below the table's folder
    size: int  # bytes
    modified_ms: int
    statistics: str  # JSON, as Delta has them


def append_files_once(
    path: str, table: Table, transaction: str, partition: dict[str, str], write: Callable[[], Sequence[NewFile]]
) -> None:
    """Make files live in one atomic commit; another call under the same transaction name changes nothing.

    As `storage.tables.append_once` does it by Spark: delta-rs keeps the name in the log too. `write` is called where
    nothing was committed under it before. For tables on a disk, under a lock: Spark's commits there are not exclusive.
    """
    from deltalake import CommitProperties, Transaction
    from deltalake.transaction import AddAction, RemoveAction

    with exclusive(f"{path}.lock"), open_log(path) as opened:
        require_known(path, table, opened.metadata().configuration)
        _require_columns(path, opened, table)
        if opened.transaction_version(transaction) is not None:
            return
        added: list[AddAction | RemoveAction] = [
            AddAction(file.path, file.size, partition, file.modified_ms, data_change=True, stats=file.statistics)
            for file in write()
        ]
        once = CommitProperties(app_transactions=[Transaction(transaction, 1)])
        opened.create_write_transaction(
            added, mode="append", schema=opened.schema(), partition_by=list(partition), commit_properties=once
        )


def _require_columns(path: str, opened: DeltaTable, table: Table) -> None:
    """Refuse a table whose columns are those of another version: what is written now would not be what it says."""
    kinds = {"FLOAT": "float", "DOUBLE": "double", "INT": "integer", "BIGINT": "long"}
    found = {field.name: str(field.type.type) for field in opened.schema().fields if hasattr(field.type, "type")}
    wanted = {name: kinds.get(kind, kind.lower()) for name, kind, _ in table.columns}
    if found != wanted:
        raise OtherVersion(
            f"{path} has the columns of another version of this software. Move the tables `cells` and `releases` away "
            "and run `vdr publish` again: it writes the release anew, at no cost in privacy"
        )


@contextmanager
def naming_damage(path: str) -> Iterator[None]:
    """Turn what libraries say of torn, missing or foreign files into a sentence that quotes none of them."""
    import pyarrow as pa
    from deltalake.exceptions import DeltaError

    try:
        yield
    except (DeltaError, pa.ArrowException, OSError, KeyError, ValueError) as problem:
        raise DamagedTable(
            f"{path} must be a whole Delta table and cannot be read ({type(problem).__name__}): its files are damaged "
            "or missing and must be restored, or they cannot be reached with the credentials and packages at hand"
        ) from None


def _files(path: str, partition: dict[str, str]) -> list[str]:
    """Return where the files of the table's newest version are, those of other partitions left out."""
    path = file_path(path)
    with open_log(path) as table:
        needed = table.protocol().min_reader_version
        if needed > _READER_VERSION:
            raise DamagedTable(
                f"{path} must be readable by Delta readers of version {_READER_VERSION}, as it was made, and now "
                f"needs version {needed}; read it by Spark, or undo the change of its features"
            )
        predicate = [(name, "=", value) for name, value in partition.items()]
        files = table.file_uris(file_pruning_predicate=predicate or None)
        if "://" in path:
            return files
        # delta-rs writes the folder of the table encoded, and what is below it as it is.
        root = table.table_uri.removeprefix("file://")
        return [f"{path}/{file.removeprefix(root)}" for file in files]


@contextmanager
def open_log(path: str) -> Iterator[DeltaTable]:
    """Open a table for its log."""
    from deltalake import DeltaTable

    with plain_name(path) as plain:
        yield DeltaTable(plain, storage_options=rust_options(plain) or None)


@contextmanager
def plain_name(path: str) -> Iterator[str]:
    """Yield a name by which delta-rs finds the log of a table. It decodes `%41` in a folder's name, takes `\\` for `/`.

    So a folder of such a name is shown to it under a plain one; where the files are is ours to say anyway.
    """
    if "://" in path or not set(path) & set("%\\"):
        yield path
        return
    with tempfile.TemporaryDirectory() as plain:
        if os.path.isdir(f"{path}/_delta_log"):
            os.symlink(f"{path}/_delta_log", f"{plain}/_delta_log")
        yield plain


@contextmanager
def open_file(file: str) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file of a table, on a local disk or in a store."""
    import pyarrow.parquet as pq

    fs, inside = filesystem(file)
    source = nullcontext(inside) if isinstance(fs, LocalFileSystem) else fs.open(inside, "rb")
    # Spark writes nanoseconds, for which Python has no type.
    with source as content, pq.ParquetFile(content, coerce_int96_timestamp_unit="us") as parquet:
        yield parquet


def _read_file(file: str, columns: Sequence[str] | None) -> Iterator[pa.RecordBatch]:
    with open_file(file) as parquet:
        yield from parquet.iter_batches(_ROWS_PER_BATCH, columns=None if columns is None else list(columns))
