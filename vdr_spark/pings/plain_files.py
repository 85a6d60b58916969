"""Files of pings that tasks may read themselves, because they hold what Spark would give.

Of a Delta table these are its live files, unless readers must know more than which they are: deleted rows may still be
in them (deletion vectors), columns may have other names there (column mapping), or other types.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from pyspark.sql.types import DataType, DoubleType, LongType, StringType, TimestampType

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import DamagedTable
from vdr_spark.pings.layouts import LAYOUTS
from vdr_spark.pings.parquet_types import INSTANT_NS
from vdr_spark.pings.readers import OpenedPings
from vdr_spark.storage.delta_files import list_files, naming_damage, open_log
from vdr_spark.storage.paths import absolute, is_local
from vdr_spark.storage.store_access import scheme_of

_PLAIN_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "user_id": (StringType, LongType),
    "lat": (DoubleType,),
    "lon": (DoubleType,),
    "ts": (TimestampType,),
}
_NOTHING_SPECIAL = 1  # Delta's reader version of tables that are the sum of their live files


@dataclass(frozen=True)
class PlainFiles:
    """Parquet files that hold pings as we want them."""

    columns: dict[str, str]  # ours: theirs
    files: list[str]  # as URIs


def find_plain_files(opened: OpenedPings, settings: InputSettings) -> PlainFiles | None:
    """Return the files of pings, where they are Parquet files whose columns hold what `read_pings` gives.

    None where anything would have to be converted, or is not in the files: text for numbers, wall clocks, columns
    that come from folder names, rows that a Delta table has deleted.
    """
    form = settings.format or LAYOUTS[settings.layout].format
    if settings.path is None or form == "csv":
        return None
    # Spark takes nanoseconds for numbers, and instants they are all the same.
    plain_types = _PLAIN_TYPES | ({"ts": (LongType, TimestampType)} if INSTANT_NS in opened.time_sorts else {})
    if not all(isinstance(column.dataType, plain_types[ours]) for ours, column in opened.columns.items()):
        return None
    columns = {ours: column.name for ours, column in opened.columns.items()}
    if form == "delta":
        live = _live_files(absolute(settings.path), columns.values())
        return None if live is None else PlainFiles(columns, live)
    files = opened.stored.inputFiles()
    in_folders = any(f"/{name}=" in unquote(file) for name in columns.values() for file in files)
    return None if in_folders else PlainFiles(columns, files)


def _live_files(path: str, columns: Collection[str]) -> list[str] | None:
    """Return the live files of a Delta table on a disk or in S3, if these columns are in them as Spark gives them."""
    if not is_local(path) and scheme_of(path) != "s3":
        return None
    try:
        with naming_damage(path), open_log(path) as log:
            special = log.protocol().min_reader_version > _NOTHING_SPECIAL
            in_folders = {name.lower() for name in log.metadata().partition_columns}
        if special or in_folders & {name.lower() for name in columns}:
            return None
        return [_as_uri(file) for file in list_files(path)]
    except DamagedTable:  # what delta-rs cannot read, Spark may
        return None


def _as_uri(file: str) -> str:
    """Return a percent-encoded URI, as Spark names its files."""
    scheme, separator, rest = file.partition("://")
    return f"{scheme}://{quote(rest)}" if separator else Path(file).as_uri()
