"""Pings from files, tables and DataFrames, in the one shape that the rest of the product knows.

Only paths, plans, file footers and header lines are looked at here: a wrong schema is refused before any row is
read, nothing is inferred from the rows, and no message repeats anything that could be one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NumericType,
    ShortType,
    StructField,
    StructType,
)

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.columns import find_columns
from vdr_spark.pings.csv_files import column_named, open_csv
from vdr_spark.pings.layouts import LAYOUTS, Layout
from vdr_spark.pings.parquet_schemas import compare_types, require_same_bits
from vdr_spark.pings.parquet_types import INSTANT_NS, WALL_CLOCK_NS
from vdr_spark.pings.recompute import check_recomputable
from vdr_spark.pings.timestamps import instant, instant_of_nanoseconds
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_errors import SPARK_ERRORS
from vdr_spark.spark_versions import READS_WIDER, ROW_BY_ROW, condition_of, try_cast
from vdr_spark.storage.paths import absolute
from vdr_spark.storage.sql_names import quote_full_name
from vdr_spark.storage.tables import is_delta_table

ALL_FILES_OR_NONE = {
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
}

WHILE_READING = ALL_FILES_OR_NONE | ROW_BY_ROW
"""A file that cannot be read stops the job, whatever the session says: were it left out, and read when a task is run
again, the bound would break. A row that cannot be read stops nothing."""

_ALL_FILES_OPTIONS = {key.rsplit(".", 1)[-1]: value for key, value in ALL_FILES_OR_NONE.items()}
"""The same for one reader of plain files, for platforms that let nobody change the session. Delta does not listen."""

NANOSECONDS_AS_NUMBERS = {"spark.sql.legacy.parquet.nanosAsLong": "true"}
"""Without this, Spark does not read Parquet's nanoseconds, which pandas writes."""

# Otherwise Spark looks at the names of all folders to tell what they are: `user_id=1` and `user_id=01` would be
# one user, the number 1, unless somebody else's folder is called `user_id=abc`.
_FOLDERS_AS_TEXT = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
# Spark would read the ids of all files in as many bits as one file has, and cut off the rest of longer ones.
_WIDEST: dict[type[DataType], DataType] = {
    ByteType: LongType(),
    ShortType: LongType(),
    IntegerType: LongType(),
    FloatType: DoubleType(),
}


@dataclass(frozen=True)
class OpenedPings:
    """Pings as they are stored, with the columns that are theirs for ours, checked; no row has been read."""

    stored: DataFrame
    columns: dict[str, StructField]  # ours: theirs
    time_sorts: frozenset[str] = frozenset()  # how Parquet files keep `ts` (`parquet_types`); empty for other formats


def reading_settings(settings: InputSettings) -> dict[str, str]:
    """Return Spark's settings for as long as pings are opened and read.

    Not while they are opened only: a remote session looks at files again whenever it computes something of them.
    """
    of_files = {} if settings.path is None else _FOLDERS_AS_TEXT | NANOSECONDS_AS_NUMBERS
    return WHILE_READING | of_files


def read_pings(spark: SparkSession, settings: InputSettings, frame: DataFrame | None = None) -> DataFrame:
    """Return the pings that `settings` describe: `user_id` (string or integer), `lat`, `lon` double, `ts` timestamp.

    `frame` is the DataFrame, where `input.dataframe` names one. Degrees and instants are null where a row has none
    that can be read; rows without a user are left out, since nobody's share of them could be bounded. Raises
    `InvalidInput` for a path, a plan or a schema that will not do, before any row is read.
    """
    return to_canonical(open_pings(spark, settings, frame), settings)


def open_pings(spark: SparkSession, settings: InputSettings, frame: DataFrame | None = None) -> OpenedPings:
    """Open what `settings` describe and find its columns, without reading a row."""
    if (frame is None) != (settings.dataframe is None):
        raise InvalidInput(_explain_frame(settings))
    if settings.path is not None:
        return _open_path(spark, absolute(settings.path), settings)
    stored = frame if frame is not None else _open_table(spark, settings)
    check_recomputable(stored, settings)
    return OpenedPings(stored, find_columns(stored, settings))


def require_all_files(settings: InputSettings, lacking: frozenset[str]) -> None:
    """Refuse an input of which files might be left out at times, because the platform keeps settings to itself.

    Plain files are opened with options that say it again. Of tables a person can vouch for it.
    """
    plain_files = settings.path is not None and _format(settings, LAYOUTS[settings.layout]) != "delta"
    unsure = sorted(lacking & ALL_FILES_OR_NONE.keys())
    if unsure and not plain_files and not settings.trust_plan:
        raise InvalidInput(
            f"input: {unsure[0]} must be false while {settings.location} is read, and this Spark neither lets it be "
            "set nor shows it. Were a damaged file left out, and read when Spark computes the rows again, people would "
            "count with more than k pings. Read plain files (input.path), or a table by its name (input.table) with "
            "input.trust_plan: true, by which you vouch for it"
        )


def to_canonical(opened: OpenedPings, settings: InputSettings) -> DataFrame:
    """Bring opened pings into our names and types, by Spark."""
    columns = canonical_columns(opened, settings)
    pings = opened.stored.select(*(column.alias(ours) for ours, column in columns.items()))
    return pings.where(F.col("user_id").isNotNull())


def canonical_columns(opened: OpenedPings, settings: InputSettings) -> dict[str, Column]:
    """Return our columns as made of theirs, each null where a row has nothing that can be read."""
    columns = stored_columns(opened)
    return {
        "user_id": columns["user_id"],
        "lat": _to_degrees(columns["lat"], opened.columns["lat"].dataType),
        "lon": _to_degrees(columns["lon"], opened.columns["lon"].dataType),
        "ts": _to_instant(columns["ts"], opened, settings, LAYOUTS[settings.layout]),
    }


def stored_columns(opened: OpenedPings) -> dict[str, Column]:
    """Return their columns for ours, as they are stored."""
    return {ours: column_named(column.name) for ours, column in opened.columns.items()}


def _explain_frame(settings: InputSettings) -> str:
    if settings.dataframe is None:
        return (
            f"input.dataframe: a DataFrame was given, but the pings are to come from {settings.location}; "
            "leave it out, or set input.dataframe to a name for it instead"
        )
    return (
        f"input.dataframe: the pings are to come from {settings.location}, which only Python code can hand over, and "
        "none was given; hand it over, or set input.path or input.table instead"
    )


def _to_degrees(column: Column, kind: DataType) -> Column:
    # Every number has a double near it. Where they are doubles, Spark drops the cast, and leaves rows in the files.
    return column.cast("double") if isinstance(kind, NumericType) else try_cast(column, "double")


def _to_instant(column: Column, opened: OpenedPings, settings: InputSettings, layout: Layout) -> Column:
    if len(opened.time_sorts) > 1:
        raise InvalidInput(
            f"input: column `{opened.columns['ts'].name}` of {settings.location} has nanoseconds in some files and not "
            f"in others ({', '.join(sorted(opened.time_sorts))}), which Spark cannot read together; write all files in "
            "one unit, microseconds for choice"
        )
    zone = settings.timezone or layout.timezone
    if opened.time_sorts & {INSTANT_NS, WALL_CLOCK_NS}:
        return instant_of_nanoseconds(column, "UTC" if INSTANT_NS in opened.time_sorts else zone)
    return instant(column, opened.columns["ts"].dataType, zone, layout.time_skip, _text_pattern(layout, settings))


def _format(settings: InputSettings, layout: Layout) -> str:
    return settings.format or layout.format


def _text_pattern(layout: Layout, settings: InputSettings) -> str | None:
    return layout.time_pattern if _format(settings, layout) == "csv" else None


def _open_table(spark: SparkSession, settings: InputSettings) -> DataFrame:
    assert settings.table is not None
    try:
        return _looked_at(spark.table(quote_full_name(settings.table)))
    except AnalysisException as problem:
        condition = condition_of(problem) or "no reason given"
        raise InvalidInput(
            f"input.table: there is no table or view {settings.table} that this session can open ({condition}); "
            "name one that exists, as catalog.schema.table where it is not in the session's own"
        ) from None


def _looked_at(frame: DataFrame) -> DataFrame:
    """Return a DataFrame whose source was looked for: a remote session does so only when it must answer."""
    frame.columns  # noqa: B018
    return frame


def _open_path(spark: SparkSession, path: str, settings: InputSettings) -> OpenedPings:
    # The path is absolute: Spark's Java process has a working directory of its own, which need not be ours.
    layout = LAYOUTS[settings.layout]
    stored = _open_stored(spark, path, settings, layout)
    columns = find_columns(stored, settings)
    if _format(settings, layout) != "parquet":
        return OpenedPings(stored, columns)
    names = [column.name for column in columns.values()]
    sorts = compare_types(stored.inputFiles(), names, path)
    if not READS_WIDER:
        require_same_bits(stored.inputFiles(), names, path)
    return OpenedPings(stored, columns, frozenset(sorts[columns["ts"].name]))


def _open_stored(spark: SparkSession, path: str, settings: InputSettings, layout: Layout) -> DataFrame:
    form = _format(settings, layout)
    try:
        if form == "delta":
            return _looked_at(spark.read.format(form).load(path))
        with settings_of_spark(spark, _FOLDERS_AS_TEXT | NANOSECONDS_AS_NUMBERS) as lacking:
            stored = _open_files(spark, path, settings, layout)
        _check_folders(stored.inputFiles(), path, told_apart=lacking.isdisjoint(_FOLDERS_AS_TEXT))
        return stored
    except AnalysisException as problem:
        raise InvalidInput(_why_not_opened(problem, form, path)) from None
    except SPARK_ERRORS:
        # Spark's own words may quote the file.
        raise InvalidInput(
            f"input.path: {path} cannot be opened as {form}; set input.format to what it is, "
            "or mend the files and the rights to read them"
        ) from None


def _open_files(spark: SparkSession, path: str, settings: InputSettings, layout: Layout) -> DataFrame:
    if _format(settings, layout) == "csv":
        return open_csv(spark.read.options(**_ALL_FILES_OPTIONS), path, settings, layout)
    if is_delta_table(spark, path):
        # The folder also holds files that Delta has retired: deleted people would come back.
        raise InvalidInput(f"{path} is a Delta table; set input.format: delta")
    return _widen(spark, spark.read.options(**_ALL_FILES_OPTIONS).parquet(path), path)


def _widen(spark: SparkSession, stored: DataFrame, path: str) -> DataFrame:
    widest = _widest(stored.schema)
    if READS_WIDER:
        return spark.read.options(**_ALL_FILES_OPTIONS).schema(widest).parquet(path)
    # All files have the same bits there, or are refused: they may be read first and widened then.
    narrow = {new.name: new.dataType for new, old in zip(widest, stored.schema, strict=True) if new != old}
    return stored.withColumns({name: column_named(name).cast(kind) for name, kind in narrow.items()})


def _widest(schema: StructType) -> StructType:
    kinds = {field.name: _WIDEST.get(type(field.dataType), field.dataType) for field in schema}
    return StructType([StructField(field.name, kinds[field.name], field.nullable, field.metadata) for field in schema])


def _check_folders(files: Sequence[str], path: str, told_apart: bool) -> None:
    """Refuse files of which some lie in folders such as `user_id=1`, some not: Spark would silently leave these out.

    And all such folders, where `user_id=1` and `user_id=01` cannot be `told_apart`.
    """
    columns = {tuple(re.findall(r"/([^/=]+)=[^/]*(?=/)", file.lower())) for file in files}
    if len(columns) > 1:
        raise InvalidInput(
            f"input.path: either all files at {path} lie in folders called column=value, of the same columns, or none "
            "does; move those that lie elsewhere"
        )
    if columns - {()} and not told_apart:
        raise InvalidInput(
            f"input.path: the files at {path} lie in folders called column=value, and this Spark would take 1 and 01 "
            "in their names for the same, which one must be able to switch off and here cannot "
            f"({', '.join(_FOLDERS_AS_TEXT)}); write the pings to a table, and name that in input.table"
        )


def _why_not_opened(problem: AnalysisException, form: str, path: str) -> str:
    condition = condition_of(problem) or ""
    if condition == "PATH_NOT_FOUND":
        return f"input.path: there is nothing at {path}; name a file or a folder that exists"
    if condition == "UNABLE_TO_INFER_SCHEMA":
        return f"input.path: {path} holds no {form} files; put them there, or set input.format to what it holds"
    if condition.startswith("DELTA_TABLE_NOT_FOUND") or condition == "DELTA_MISSING_DELTA_TABLE":
        return f"input.path: {path} is no Delta table; set input.format: parquet or csv if it holds such files"
    return f"input.path: {path} cannot be opened as {form} ({condition or 'no reason given'}); set input.format"
