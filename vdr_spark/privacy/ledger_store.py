"""The ledger's table in an object store, or on a disk: read without Spark, and written by conditional put.

An entry is one row in one file in one commit. The commit is made as the one after the last that was read, by a put that
the store lets through once (`storage.store_log`), or by a hard link, which the disk lets through once
(`storage.disk_folder`). So who has written an entry had read all entries before it, and no other entry has its number:
two releases at once cannot both take the last epsilon, whatever is delayed, for however long. A crash before the commit
leaves a file that no reader sees; a crash after it leaves an entry that counts.
"""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from fractions import Fraction
from typing import Any
from uuid import uuid4

from vdr_spark.arrow_columns import to_rows
from vdr_spark.errors import DamagedTable
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.storage.conditional_put import StoreUnreachable
from vdr_spark.storage.delta_files import naming_damage
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.store_log import LiveFile, StoreLog, describe_files

_TRANSACTION = "ledger"
_AT_ONCE = 16  # files that are fetched together


class LedgerStore:
    """The rows of a ledger, and the number of the commit up to which they were read."""

    def __init__(self, log: StoreLog[Any]) -> None:
        self._log, self._version, self._is_current = log, -1, False
        self._count = 0  # rows of that version
        self._rows: dict[str, list[dict[str, Any]]] = {}  # by file: they never change

    def read_rows(self) -> list[dict[str, Any]]:
        """Return all rows of the newest version; none where there is no table."""
        version = self._log.version()
        self._version = -1 if version is None else version
        self._is_current = self._log.is_current(LEDGER)
        files = self._log.live_files()
        with naming_damage(self._log.place), ThreadPoolExecutor(_AT_ONCE) as pool:
            missing = [file for file in files if file not in self._rows]
            self._rows.update(zip(missing, pool.map(self._read_file, missing), strict=True))
        rows = [row for file in files for row in self._rows[file]]
        self._count = len(rows)
        return rows

    def append(self, entry: Entry) -> bool:
        """Write an entry as what follows the rows that were read last; False where another process was faster."""
        log = self._log
        if entry.sequence != self._count + 1:
            return False  # decided by older rows than those that were read last
        if not self._is_current:
            log.create(LEDGER)
            return False  # another may have made it, or changed it, and written: read first
        content = _to_parquet(entry)
        name = f"entry-{entry.sequence:06d}-{uuid4().hex}.parquet"
        log.folder.create_if_absent(name, content)
        file = LiveFile(name, len(content), int(entry.recorded_at.timestamp() * 1000))
        actions = describe_files([file], _TRANSACTION, entry.sequence)
        if log.commit(self._version + 1, actions, "WRITE"):
            return True
        with suppress(StoreUnreachable):  # who may not delete leaves a file that no reader sees
            log.folder.remove(name)
        return False

    def _read_file(self, file: str) -> list[dict[str, Any]]:
        import pyarrow.parquet as pq

        content = self._log.folder.read(file)
        if content is None:
            raise DamagedTable(f"{self._log.place} lacks the file {file}, which its log names; restore it")
        with pq.ParquetFile(io.BytesIO(content), coerce_int96_timestamp_unit="us") as parquet:
            return [row for batch in parquet.iter_batches() for row in to_rows(batch)]


def _to_parquet(entry: Entry) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    kinds = {"BIGINT": pa.int64(), "STRING": pa.string(), "TIMESTAMP": pa.timestamp("us", "UTC")}
    schema = pa.schema([(name, kinds[kind]) for name, kind, _ in LEDGER.columns])
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([to_row(entry)], schema=schema), sink)
    return sink.getvalue()


def to_row(entry: Entry) -> dict[str, object]:
    """Return an entry as the table has it: exact numbers and states as text."""
    values = {name: getattr(entry, name) for name in LEDGER.names}
    return {name: str(value) if isinstance(value, Fraction | State) else value for name, value in values.items()}
