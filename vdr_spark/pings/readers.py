"""Pings from files and tables, in the one shape that the rest of the product knows.

Only paths, file footers and header lines are looked at here: a wrong schema is refused before any row is
read, nothing is inferred from the rows, and no message repeats anything that could be one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from urllib.parse import unquote

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    IntegralType,
    LongType,
    NumericType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from vdr_spark.config.release import absolute
from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.csv_files import open_csv, quoted
from vdr_spark.pings.layouts import CANONICAL, LAYOUTS, Layout
from vdr_spark.pings.parquet_schemas import check_types
from vdr_spark.pings.timestamps import instant, is_time
from vdr_spark.spark.session import settings_of_spark

# Otherwise Spark looks at the names of all folders to tell what they are: `user_id=1` and `user_id=01` would be
# one user, the number 1, unless somebody else's folder is called `user_id=abc`.
_FOLDERS_ARE_TEXT = {"spark.sql.sources.partitionColumnTypeInference.enabled": "false"}
_PLAIN_TYPES: dict[str, tuple[type[DataType], ...]] = {
    "user_id": (StringType, LongType),
    "lat": (DoubleType,),
    "lon": (DoubleType,),
    "ts": (TimestampType,),
}
# Spark would read the ids of all files in as many bits as one file has, and cut off the rest of longer ones.
_WIDEST: dict[type[DataType], DataType] = {
    ByteType: LongType(),
    ShortType: LongType(),
    IntegerType: LongType(),
    FloatType: DoubleType(),
}
_EXPECTED = {
    "user_id": "a string or an integer",
    "lat": "a number",
    "lon": "a number",
    "ts": "a timestamp, a number counted from 1970, or text",
}


def read_pings(spark: SparkSession, settings: InputSettings) -> DataFrame:
    """The pings that `settings` describe: `user_id` (string or integer), `lat`, `lon` double, `ts` timestamp.

    Degrees and instants are null where a row has none that can be read; rows without a user are left out,
    since nobody's share of them could be bounded. Raises `InvalidInput` for a path or a schema that will not
    do, before any row is read.
    """
    layout = LAYOUTS[settings.layout]
    # Spark's Java process has a working directory of its own, which need not be ours.
    settings = settings.model_copy(update={"path": absolute(settings.path)})
    stored = _open(spark, settings, layout)
    theirs = {ours: _find(ours, stored, settings, layout) for ours in CANONICAL}
    _check_types(theirs, settings)
    if _format(settings, layout) == "parquet":
        check_types(stored.inputFiles(), {field.name: field.dataType for field in theirs.values()}, settings.path)
    columns = {ours: quoted(column.name) for ours, column in theirs.items()}
    zone = settings.timezone or layout.timezone
    pings = stored.select(
        columns["user_id"].alias("user_id"),
        columns["lat"].try_cast("double").alias("lat"),
        columns["lon"].try_cast("double").alias("lon"),
        instant(columns["ts"], theirs["ts"].dataType, zone, layout.time_skip, _text_pattern(layout, settings)).alias(
            "ts"
        ),
    )
    return pings.where(F.col("user_id").isNotNull())


def plain_columns(spark: SparkSession, settings: InputSettings) -> dict[str, str] | None:
    """Our names to theirs, where the pings are Parquet files whose columns hold what `read_pings` gives.

    None where anything would have to be converted, or is not in the files: text for numbers, wall clocks, columns
    that come from folder names.
    """
    layout = LAYOUTS[settings.layout]
    if _format(settings, layout) != "parquet":
        return None
    settings = settings.model_copy(update={"path": absolute(settings.path)})
    stored = _open(spark, settings, layout)
    theirs = {ours: _find(ours, stored, settings, layout) for ours in CANONICAL}
    plain = all(isinstance(column.dataType, _PLAIN_TYPES[ours]) for ours, column in theirs.items())
    files = [unquote(file) for file in stored.inputFiles()]
    in_folders = any(f"/{column.name}=" in file for column in theirs.values() for file in files)
    return {ours: column.name for ours, column in theirs.items()} if plain and not in_folders else None


def _format(settings: InputSettings, layout: Layout) -> str:
    return settings.format or layout.format


def _text_pattern(layout: Layout, settings: InputSettings) -> str | None:
    return layout.time_pattern if _format(settings, layout) == "csv" else None


def _open(spark: SparkSession, settings: InputSettings, layout: Layout) -> DataFrame:
    form = _format(settings, layout)
    try:
        if form == "delta":
            return spark.read.format(form).load(settings.path)
        with settings_of_spark(spark, _FOLDERS_ARE_TEXT):
            return _open_files(spark, settings, layout)
    except AnalysisException as problem:
        raise InvalidInput(_why_not_opened(problem, form, settings.path)) from None
    except (PySparkException, Py4JJavaError):
        # Spark's own words may quote the file.
        raise InvalidInput(
            f"input.path: {settings.path} cannot be opened as {form}; set input.format to what it is, "
            "or mend the files and the rights to read them"
        ) from None


def _open_files(spark: SparkSession, settings: InputSettings, layout: Layout) -> DataFrame:
    if _format(settings, layout) == "csv":
        stored = open_csv(spark, settings, layout)
    elif DeltaTable.isDeltaTable(spark, settings.path):
        # The folder also holds files that Delta has retired: deleted people would come back.
        raise InvalidInput(f"{settings.path} is a Delta table; set input.format: delta")
    else:
        widest = _widest(spark.read.parquet(settings.path).schema)
        stored = spark.read.schema(widest).parquet(settings.path)
    _check_folders(stored.inputFiles(), settings.path)
    return stored


def _widest(schema: StructType) -> StructType:
    kinds = {field.name: _WIDEST.get(type(field.dataType), field.dataType) for field in schema}
    return StructType([StructField(field.name, kinds[field.name], field.nullable, field.metadata) for field in schema])


def _check_folders(files: Sequence[str], path: str) -> None:
    """Refuse files of which some lie in folders such as `user_id=1`, some not: Spark would silently leave these out."""
    columns = {tuple(re.findall(r"/([^/=]+)=[^/]*(?=/)", file.lower())) for file in files}
    if len(columns) > 1:
        raise InvalidInput(
            f"input.path: either all files at {path} lie in folders called column=value, of the same columns, or none "
            "does; move those that lie elsewhere"
        )


def _why_not_opened(problem: AnalysisException, form: str, path: str) -> str:
    condition = problem.getCondition() or ""
    if condition == "PATH_NOT_FOUND":
        return f"input.path: there is nothing at {path}; name a file or a folder that exists"
    if condition == "UNABLE_TO_INFER_SCHEMA":
        return f"input.path: {path} holds no {form} files; put them there, or set input.format to what it holds"
    if condition.startswith("DELTA_TABLE_NOT_FOUND") or condition == "DELTA_MISSING_DELTA_TABLE":
        return f"input.path: {path} is no Delta table; set input.format: parquet or csv if it holds such files"
    return f"input.path: {path} cannot be opened as {form} ({condition or 'no reason given'}); set input.format"


def _find(ours: str, stored: DataFrame, settings: InputSettings, layout: Layout) -> StructField:
    """Their column for ours, by its exact name or, as Spark would, by the only one that differs in case."""
    wanted = (layout.columns | {str(key): name for key, name in settings.columns.items()})[ours]
    fields = {field.name: field for field in stored.schema.fields}
    if wanted in fields:
        return fields[wanted]
    alike = [field for name, field in fields.items() if name.lower() == wanted.lower()]
    if len(alike) == 1:
        return alike[0]
    found = _what_is_there(list(fields), _format(settings, layout))
    raise InvalidInput(
        f"input: there is no column `{wanted}` for `{ours}` in {settings.path} (layout {settings.layout}); "
        f"{found}. Name your column in input.columns, for example {ours}: my_{ours}"
    )


def _what_is_there(names: list[str], form: str) -> str:
    """The names that were found, but of CSV only their number: without a header, the first line is a person's row."""
    if form != "csv":
        return "found " + ", ".join(f"`{name}`" for name in names)
    return (
        f"the first line has {len(names)} fields, none of that name; "
        "if the files have no header, set input.header: false, and mind input.separator"
    )


def _check_types(theirs: dict[str, StructField], settings: InputSettings) -> None:
    for ours, column in theirs.items():
        if not _accepted(ours, column.dataType):
            raise InvalidInput(
                f"input: column `{column.name}` of {settings.path} is {column.dataType.simpleString()}, but "
                f"`{ours}` must be {_EXPECTED[ours]}; name another column in input.columns, or convert it"
            )


def _accepted(ours: str, kind: DataType) -> bool:
    if ours == "user_id":
        return isinstance(kind, StringType | IntegralType)
    if ours == "ts":
        return is_time(kind)
    return isinstance(kind, NumericType | StringType)
