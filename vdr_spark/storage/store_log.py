"""Delta tables in an object store, committed by conditional put: the log's next file is created once, whoever tries.

Delta's commit number n is the file n of its log. On a disk, and in most stores, Spark makes it atomically; in S3 it
looks whether the file is there and then writes it, so that of two processes the later one overwrites what the first
one committed. Here a commit is one conditional put of that file. Who commits n+1 has read all up to n, and if another
came first it hears so, reads on and decides anew. So a commit is a claim: nothing lies between the two that a crash
could part, and no reader can see the one without the other.

Spark writes the files of rows and reads the tables; delta-rs reads the log.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar
from urllib.parse import quote, unquote
from uuid import uuid4

from vdr_spark.errors import DamagedTable, OtherVersion
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.conditional_put import Found, NoConditionalPut, StoreFolder, find_proven_folder, open_folder
from vdr_spark.storage.delta_files import naming_damage
from vdr_spark.storage.delta_schema import describe_table
from vdr_spark.storage.disk_folder import DiskFolder
from vdr_spark.storage.paths import file_path, holds_locks, is_local, is_same_for_spark
from vdr_spark.storage.schemas import VERSION_PROPERTY, Table
from vdr_spark.storage.store_access import rust_options
from vdr_spark.storage.versions import require_known

if TYPE_CHECKING:
    from deltalake import DeltaTable

_FEATURES = {"appendOnly", "invariants", "checkConstraints"}
_ATTEMPTS = 50  # a competitor gets in between at most once per commit it makes


@dataclass(frozen=True)
class LiveFile:
    """A file of rows, written and not yet live, or live."""

    path: str  # below the table's folder
    size: int  # bytes
    modified_ms: int


class Folder(Protocol):
    """Where a file is created once, whoever tries: a `StoreFolder`, or a `DiskFolder`."""

    def create_if_absent(self, name: str, content: bytes) -> bool: ...

    def read(self, name: str) -> bytes | None: ...

    def find(self, prefix: str = "") -> list[Found]: ...

    def remove(self, *names: str) -> None: ...


FolderT = TypeVar("FolderT", bound=Folder)


class StoreLog(Generic[FolderT]):
    """The log of one table in a store, or on a disk."""

    def __init__(self, place: str, folder: FolderT) -> None:
        self.place, self.folder = place, folder
        self._opened: DeltaTable | None = None

    def version(self) -> int | None:
        """Return the number of the last commit, read anew; None where there is no table."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        with naming_damage(self.place):
            if self._opened is not None:
                self._opened.update_incremental()
            else:
                try:
                    self._opened = DeltaTable(self.place, storage_options=rust_options(self.place) or None)
                except TableNotFoundError:
                    return None
            _require_plain(self.place, self._opened)
            return self._opened.version()

    def live_files(self) -> list[str]:
        """Return the live files of the version that was read last, below the table's folder."""
        if self._opened is None:
            return []
        root = self._opened.table_uri.rstrip("/") + "/"
        uris = (uri.removeprefix(root).removeprefix(root.removeprefix("file://")) for uri in self._opened.file_uris())
        return sorted(unquote(uri) for uri in uris)

    def create(self, table: Table) -> None:
        """Make the table, unless it is there; one of an older version gets the columns that it lacks, in one commit."""
        for _ in range(_ATTEMPTS):
            if self.version() is None:
                self.commit(0, describe_table(table), "CREATE TABLE")
                return
            if self.is_current(table):
                return
            assert self._opened is not None
            if self.commit(self._opened.version() + 1, [self._describe_newer(table)], "ADD COLUMNS"):
                return
        raise NoConditionalPut(f"{self.place} is written by too many processes at once; run this again")

    def is_current(self, table: Table) -> bool:
        """Return whether the version that was read last has all columns of ours; refuse one newer than this software.

        A table that is not there has none.
        """
        return self._opened is not None and self._find_schema_version(table) == table.version

    def _find_schema_version(self, table: Table) -> int:
        assert self._opened is not None
        return require_known(self.place, table, self._opened.metadata().configuration)

    def _describe_newer(self, table: Table) -> dict[str, Any]:
        """Return the action that makes an older table ours: the same table, with columns that may be null added."""
        assert self._opened is not None
        known, lacking = self._opened.metadata(), table.later_than(self._find_schema_version(table))
        (ours, _), found = describe_table(table), json.loads(self._opened.schema().to_json())["fields"]
        wanted = {field["name"]: field for field in json.loads(ours["metaData"]["schemaString"])["fields"]}
        there = {field["name"]: field["type"] for field in found}
        wrong = [name for name, kind in there.items() if name not in wanted or wanted[name]["type"] != kind]
        wrong += [name for name in wanted if name not in there and name not in lacking]
        if wrong:
            raise OtherVersion(
                f"{self.place} is a table `{table.name}` whose columns are not those of any version of this software "
                f"({', '.join(sorted(wrong))}), and cannot be brought to schema version {table.version} in place. Move "
                "the tables `cells` and `releases` away and run `vdr publish` again: it writes the release anew, at no "
                "cost in privacy"
            )
        fields = [*found, *(field for name, field in wanted.items() if name not in there)]
        schema = json.dumps({"type": "struct", "fields": fields}, separators=(",", ":"))
        told = {VERSION_PROPERTY: str(table.version)}
        same = {"id": str(known.id), "createdTime": known.created_time, "configuration": known.configuration | told}
        return {"metaData": ours["metaData"] | same | {"schemaString": schema}}

    def commit(self, version: int, actions: Sequence[Mapping[str, Any]], operation: str) -> bool:
        """Make commit number `version`; False where another process made it first."""
        info = {"timestamp": _now(), "operation": operation, "engineInfo": "vdr-spark", "txnId": uuid4().hex}
        lines = [{"commitInfo": info}, *actions]
        content = "\n".join(json.dumps(line, separators=(",", ":")) for line in lines) + "\n"
        return self.folder.create_if_absent(f"_delta_log/{version:020d}.json", content.encode())

    def has(self, transaction: str, number: int = 1) -> bool:
        """Return whether something was committed under a transaction name and number, by the log as it is now."""
        if self.version() is None or self._opened is None:
            return False
        done = self._opened.transaction_version(transaction)
        return done is not None and done >= number

    def append_once(self, files: Sequence[LiveFile], transaction: str, number: int = 1) -> bool:
        """Make files live in one commit; False where that was done under this transaction name and number before."""
        for _ in range(_ATTEMPTS):
            if self.has(transaction, number):
                return False
            version = -1 if self._opened is None else self._opened.version()
            if self.commit(version + 1, describe_files(files, transaction, number), "WRITE"):
                return True
        raise NoConditionalPut(f"{self.place} is written by too many processes at once; run this again")


def describe_files(files: Sequence[LiveFile], transaction: str, number: int) -> list[dict[str, Any]]:
    """Return the actions of a commit that makes files live. A folder `name=value` says what their rows have there."""
    added = [
        {
            "add": {
                "path": quote(file.path, safe="/=-_.~"),
                "partitionValues": _partition_of(file.path),
                "size": file.size,
                "modificationTime": file.modified_ms,
                "dataChange": True,
            }
        }
        for file in files
    ]
    return [{"txn": {"appId": transaction, "version": number, "lastUpdated": _now()}}, *added]


def _require_plain(place: str, table: DeltaTable) -> None:
    """Refuse a table that needs more of its readers and writers than ours do: it was changed since it was made."""
    protocol = table.protocol()
    needed = set(protocol.writer_features or ()) - _FEATURES
    if protocol.min_reader_version > 1 or needed or (protocol.min_writer_version > 3 and not protocol.writer_features):
        raise DamagedTable(
            f"{place} must be a Delta table of the features that it was made with, and now asks for more "
            f"({', '.join(sorted(needed)) or 'a newer version'}); undo the change of its features"
        )


def _partition_of(path: str) -> dict[str, str]:
    named = [part.split("=", 1) for part in path.split("/")[:-1] if "=" in part]
    return {name: unquote(value) for name, value in named}


def _now() -> int:
    return int(time.time() * 1000)


def open_log_on_disk(place: Place) -> StoreLog[DiskFolder] | None:
    """Return the log of a table on a disk of this machine, to be written without Spark; None elsewhere.

    delta-rs decodes `%41` in a folder's name and takes `\\` for `/`: of such a folder Spark is asked.
    """
    if not isinstance(place, str) or not is_local(place) or not is_same_for_spark(place) or not holds_locks(place):
        return None
    folder = file_path(place)
    return None if set(folder) & set("%\\") else StoreLog(folder, DiskFolder(folder))


def open_log(place: Place) -> StoreLog[StoreFolder] | None:
    """Return the log of a table in a store, to be read; None where it is none, or Spark alone can reach it."""
    if not isinstance(place, str) or is_local(place):
        return None
    try:
        return StoreLog(place, open_folder(place))
    except NoConditionalPut:
        return None


def open_log_to_write(place: Place) -> StoreLog[StoreFolder] | None:
    """Return the log of a table in a store that was seen to keep a second writer out; None elsewhere."""
    if not isinstance(place, str) or is_local(place):
        return None
    folder = find_proven_folder(place)
    return StoreLog(place, folder) if isinstance(folder, StoreFolder) else None
