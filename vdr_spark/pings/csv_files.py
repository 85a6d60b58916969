"""Pings in text files: every field is text, and every line is one person's.

What the text means is decided later, by casts that give null and no errors; names come from a header that all files
share, or from the order of the columns.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, DataFrameReader
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.csv_headers import MAX_LINE_BYTES, check_headers
from vdr_spark.pings.layouts import CANONICAL, Layout
from vdr_spark.storage.sql_names import quote_name

# Spark ends the job at a line with more columns than its parser has room for, 20480 by default. So Hadoop skips
# longer lines (it counts the line's end too), and there is room for every column of the others.
_LINE_LIMITS = {
    "mapreduce.input.linerecordreader.line.maxlength": str(MAX_LINE_BYTES + 3),
    "maxColumns": str(MAX_LINE_BYTES + 4),
}


def open_csv(reader: DataFrameReader, path: str, settings: InputSettings, layout: Layout) -> DataFrame:
    """Open text files, every field as text: what the text means is decided by casts that give null, not errors."""
    reader = reader.options(**{"sep": settings.separator} | layout.csv | _LINE_LIMITS)
    if layout.fields or not settings.header:
        stored = _open_by_position(reader, layout.fields or _name_by_position(settings), path)
    else:
        stored = _open_below_headers(reader, path)
    if layout.user_in_file_name is not None:
        found = F.regexp_extract(F.col("_metadata.file_name"), layout.user_in_file_name, 1)
        stored = stored.withColumn(layout.columns["user_id"], F.nullif(found, F.lit("")))
    return stored


def _open_below_headers(reader: DataFrameReader, path: str) -> DataFrame:
    """Open files with a header, under its names."""
    opened = reader.option("header", True).csv(path)
    check_headers(opened.inputFiles(), path)
    names = opened.columns
    if not names:
        raise InvalidInput(f"input.path: the CSV files at {path} are empty, they lack a header")
    # Spark logs a header that is not the expected one, and in a file that was changed a moment ago that may be a
    # person's row. So header lines are read as rows, and left out by what stands in their first column.
    stored = _open_by_position(reader.option("header", False), names, path)
    return stored.where(~F.coalesce(column_named(names[0]) == F.lit(names[0]), F.lit(False)))


def _open_by_position(reader: DataFrameReader, names: Sequence[str], path: str) -> DataFrame:
    stored = reader.schema(StructType([StructField(name, StringType()) for name in names])).csv(path)
    if stored.columns[: len(names)] != list(names):
        # Spark takes such a column from the folders, and then looks for the others one place too far left.
        raise InvalidInput(
            f"input.path: the CSV files at {path} and the folders that they lie in, called column=value, have a column "
            "in common; leave it out of the files, or rename the folders"
        )
    return stored


def _name_by_position(settings: InputSettings) -> list[str]:
    """Name the columns of text without a header, as many as `input.columns` needs; or ours, in our order."""
    if not settings.columns:
        return list(CANONICAL)
    numbers = [re.fullmatch(r"_c(\d{1,3})", theirs) for theirs in settings.columns.values()]
    if len(numbers) < len(CANONICAL) or not all(numbers):
        raise InvalidInput(
            "input.columns: files without a header have columns by position; "
            "give all of user_id, lat, lon, ts as _c0, _c1, ... or set input.header: true"
        )
    return [f"_c{i}" for i in range(1 + max(int(number[1]) for number in numbers if number))]


def column_named(name: str) -> Column:
    """Return a column by its name, whatever characters that has."""
    return F.col(quote_name(name))
