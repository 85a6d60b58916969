"""The Delta tables by Spark: how they come into being, are written once, and are read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from vdr_spark.errors import DamagedTable, InvalidConfig
from vdr_spark.spark_versions import condition_of
from vdr_spark.storage import delta_files
from vdr_spark.storage.catalog import CatalogTable, Place
from vdr_spark.storage.conditional_put import StoreFolder
from vdr_spark.storage.delta_log import remove_log_without_commit
from vdr_spark.storage.disk_folder import DiskFolder, has_hard_links
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.paths import absolute, file_path, holds_locks, is_local
from vdr_spark.storage.schemas import VERSION_PROPERTY, Table
from vdr_spark.storage.sql_names import quote_name, quote_text
from vdr_spark.storage.store_log import FolderT, LiveFile, StoreLog, open_log_on_disk, open_log_to_write
from vdr_spark.storage.versions import find_missing, require_known

# What Spark and Delta say of a place without a Delta table.
_NO_TABLE = ("PATH_NOT_FOUND", "DELTA_TABLE_NOT_FOUND", "DELTA_MISSING_DELTA_TABLE", "DELTA_PATH_DOES_NOT_EXIST")


def create_if_missing(spark: SparkSession, place: Place, table: Table) -> None:
    """Make an append-only table with its comments and constraints; one that is there is brought up to date."""
    if (log := open_log_to_write(place)) is not None:
        log.create(table)
        return
    if is_delta_table(spark, place):
        migrate(spark, place, table)
        return
    if isinstance(place, str):
        remove_log_without_commit(place)
    if (on_disk := open_disk(place)) is not None and not on_disk.folder.find():
        on_disk.create(table)  # without Spark, which takes seconds to make its first table
        return
    try:
        spark.sql(_creation(_quote(place), table))
    except AnalysisException as problem:
        remedy = "choose another place for it" if isinstance(place, str) else "name a schema that exists and is yours"
        reason = condition_of(problem) or "no reason given"
        raise InvalidConfig(f"{place} cannot be made a Delta table ({reason}); {remedy}") from None
    if not is_delta_table(spark, place):  # of a folder with anything in it, Delta takes it that the table exists
        raise InvalidConfig(f"{place} holds something that is no Delta table; choose another place for it")


def open_disk(place: Place) -> StoreLog[DiskFolder] | None:
    """Return the log of a table on a disk that lets a commit be made once, without Spark; None elsewhere."""
    log = open_log_on_disk(place)
    if log is None:
        return None
    try:
        Path(log.place).mkdir(parents=True, exist_ok=True)
    except OSError:  # Spark has words for what is wrong
        return None
    return log if has_hard_links(Path(log.place)) else None


def _creation(name: str, table: Table) -> str:
    """Return the SQL that makes a table. In SQL, because the Python class DeltaTable does not work remotely."""
    columns = ", ".join(
        f"{column} {kind}{table.rule(column)} COMMENT {quote_text(said)}" for column, kind, said in table.columns
    )
    listed = ", ".join(f"{quote_text(key)} = {quote_text(value)}" for key, value in table.properties.items())
    partition = f" PARTITIONED BY ({table.partition})" if table.partition else ""
    return (
        f"CREATE TABLE IF NOT EXISTS {name} ({columns}) USING delta{partition} "
        f"COMMENT {quote_text(table.comment)} TBLPROPERTIES ({listed})"
    )


def _quote(place: Place) -> str:
    """Return a table as SQL names it."""
    return f"delta.{quote_name(place)}" if isinstance(place, str) else place.quoted


def migrate(spark: SparkSession, place: Place, table: Table) -> list[str] | None:
    """Bring a table that exists up to date in place; return the columns that it lacked, None where it was up to date.

    Refused where it is newer than this software, or is not brought there by adding columns. A run that is killed in
    between is simply run again: the version is told last.
    """
    version = find_schema_version(spark, place, table)
    if version == table.version:
        return None
    found = {field.name: field.dataType.simpleString() for field in _load(spark, place).schema}
    missing = find_missing(place, table, version, found)
    if missing:
        added = ", ".join(f"{quote_name(name)} {kind} COMMENT {quote_text(said)}" for name, kind, said in missing)
        spark.sql(f"ALTER TABLE {_quote(place)} ADD COLUMNS ({added})")
    told = f"{quote_text(VERSION_PROPERTY)} = {quote_text(str(table.version))}"
    spark.sql(f"ALTER TABLE {_quote(place)} SET TBLPROPERTIES ({told})")
    return [name for name, _, _ in missing]


def find_schema_version(spark: SparkSession, place: Place, table: Table) -> int:
    """Return the schema version of a table that exists; refused where this software does not know it."""
    if isinstance(place, str) and is_local(place):
        with suppress(DamagedTable):  # without Spark, which takes longer to ask; in doubt it is asked
            version = delta_files.find_schema_version(place, table)
            if version is not None:
                return version
    listed = spark.sql(f"SHOW TBLPROPERTIES {_quote(place)}").collect()
    return require_known(place, table, {row["key"]: row["value"] for row in listed})


@contextmanager
def only_writer(spark: SparkSession, place: Place) -> Iterator[None]:
    """Keep other processes from writing a table, where its files are on a disk of this machine.

    Delta's commits by Spark are not exclusive there: of two at one moment, one could be lost.
    """
    folder = find_folder(spark, place)
    with exclusive(None if folder is None else f"{folder}.lock"):
        yield


def append_once(frame: DataFrame, place: Place, table: Table, transaction: str, version: int = 1) -> None:
    """Append in one atomic commit; another append under the same transaction name and version changes nothing.

    Delta keeps name and version in the table's log, so this holds after any crash and between processes. Of two that
    try at the same moment, the later one gets an exception that `spark_errors.is_conflict` knows; in a store that keeps
    a second writer out it hears nothing, and what it wrote is removed.
    """
    if (log := open_log_to_write(place)) is not None:
        _append_to_store(frame, log, table, transaction, version)
        return
    writer = frame.write.format("delta").mode("append")
    writer = writer.option("txnAppId", transaction).option("txnVersion", version)
    if table.partition:
        writer = writer.partitionBy(table.partition)
    if isinstance(place, str):
        writer.save(place)
    else:
        writer.saveAsTable(place.quoted)


def _append_to_store(
    frame: DataFrame, log: StoreLog[StoreFolder], table: Table, transaction: str, version: int
) -> None:
    if log.has(transaction, version):
        return
    files = stage_files(frame, log, uuid4().hex, table.partition)
    if not log.append_once(files, transaction, version):
        log.folder.remove(*(file.path for file in files))


def stage_files(frame: DataFrame, log: StoreLog[FolderT], folder: str, partition: str | None = None) -> list[LiveFile]:
    """Evaluate a frame once into files of a new folder of a table; none of them is live before a commit."""
    writer = frame.write
    if partition is not None:
        writer = writer.partitionBy(partition)
    writer.parquet(f"{log.place}/{folder}")
    return find_staged(log, folder)


def find_staged(log: StoreLog[FolderT], folder: str) -> list[LiveFile]:
    """Return the files of rows in a folder of a table; not what tasks left that did not finish, or came too late."""
    return [
        LiveFile(found.name, found.size, found.modified_ms)
        for found in log.folder.find(folder)
        if found.name.endswith(".parquet") and not any(part.startswith(("_", ".")) for part in found.name.split("/"))
    ]


def read_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """Collect all rows, times in UTC. A Row of Spark's has them in the driver's own zone, and does not say so."""
    times = [field.name for field in frame.schema if isinstance(field.dataType, TimestampType)]
    numbers = frame.withColumns({name: F.unix_micros(name) for name in times}) if times else frame
    rows = [row.asDict(recursive=True) for row in numbers.collect()]
    return [row | {name: _to_instant(row[name]) for name in times} for row in rows]


def _to_instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def read_table(spark: SparkSession, place: Place, table: Table) -> DataFrame | None:
    """Return a table; None where it does not exist yet."""
    return open_table(spark, place, table) if is_delta_table(spark, place) else None


def open_table(spark: SparkSession, place: Place, table: Table) -> DataFrame:
    """Return a table that exists. Refused where it is newer than this software; what came after its version is null."""
    frame, later = _load(spark, place), table.later_than(find_schema_version(spark, place, table))
    found = set(frame.columns) if later else set()
    lacking = {name: F.lit(None).cast(kind) for name, kind, _ in table.columns if name in later and name not in found}
    return frame.withColumns(lacking) if lacking else frame


def _load(spark: SparkSession, place: Place) -> DataFrame:
    return spark.read.format("delta").load(place) if isinstance(place, str) else spark.table(place.quoted)


def is_delta_table(spark: SparkSession, place: Place) -> bool:
    """Return whether a Delta table was committed at a path, or above it, or has that name; refuse other tables."""
    if not isinstance(place, str):
        return spark.catalog.tableExists(place.quoted) and _describe(spark, place)["format"] == "delta"
    if is_local(place):
        if not _has_log(place):
            return False
        if Path(file_path(place), "_delta_log").exists():
            # Without Spark, which takes longer, and may go on to see none where it saw none once. In doubt it is asked.
            with suppress(DamagedTable):
                return delta_files.is_delta_table(place)
    try:
        return bool(spark.read.format("delta").load(place).columns)  # a remote session looks only when it must answer
    except AnalysisException as problem:
        if condition_of(problem) in _NO_TABLE:
            return False
        raise


def _has_log(path: str) -> bool:
    """Whether there is a log at a local path or above it: without one, there is nothing to ask about."""
    plain = Path(file_path(path))
    return any((folder / "_delta_log").exists() for folder in (plain, *plain.parents))


def find_folder(spark: SparkSession, place: Place) -> str | None:
    """Return where the files of a table are: a path or URI as it is; of a name, a folder on a disk of this machine.

    None where a named table does not exist yet, or is in a store, which a catalog keeps to itself.
    """
    if isinstance(place, str):
        return place
    if not is_delta_table(spark, place):
        return None
    folder = absolute(_describe(spark, place)["location"])
    return folder if holds_locks(folder) else None


def find_version(spark: SparkSession, place: CatalogTable) -> int:
    """Return the number of a table's last commit."""
    return int(spark.sql(f"DESCRIBE HISTORY {place.quoted} LIMIT 1").collect()[0]["version"])


def _describe(spark: SparkSession, place: CatalogTable) -> dict[str, Any]:
    try:
        return spark.sql(f"DESCRIBE DETAIL {place.quoted}").collect()[0].asDict()
    except AnalysisException as problem:
        reason = condition_of(problem) or "no reason given"
        raise InvalidConfig(f"tables: {place} must be a Delta table, and is something else ({reason})") from None


def read_partition(spark: SparkSession, place: Place, table: Table, value: str) -> DataFrame | None:
    """Return the rows of one draw or release; None where the table does not exist yet."""
    rows = read_table(spark, place, table)
    return None if rows is None else rows.where(F.col(table.partition or table.names[0]) == value)
