"""Their columns for ours, by name and type, before any row is read."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, IntegralType, NumericType, StringType, StructField

from vdr_spark.config.settings import InputSettings
from vdr_spark.errors import InvalidInput
from vdr_spark.pings.layouts import CANONICAL, LAYOUTS, Layout
from vdr_spark.pings.timestamps import is_time

_EXPECTED = {
    "user_id": "a string or an integer",
    "lat": "a number",
    "lon": "a number",
    "ts": "a timestamp, a number counted from 1970, or text",
}


def find_columns(stored: DataFrame, settings: InputSettings) -> dict[str, StructField]:
    """Return their columns for ours, of types that can be read."""
    layout = LAYOUTS[settings.layout]
    theirs = {ours: _find_column(ours, stored, settings, layout) for ours in CANONICAL}
    _check_types(theirs, settings)
    return theirs


def _find_column(ours: str, stored: DataFrame, settings: InputSettings, layout: Layout) -> StructField:
    """Return their column for ours, by its exact name or, as Spark would, by the only one that differs in case."""
    name = (layout.columns | {str(key): theirs for key, theirs in settings.columns.items()})[ours]
    fields = stored.schema.fields
    for alike in ([f for f in fields if f.name == name], [f for f in fields if f.name.lower() == name.lower()]):
        if len(alike) == 1:
            return alike[0]
    found = _describe_columns([field.name for field in fields], settings, layout)
    raise InvalidInput(
        f"input: there is no column, or more than one, called `{name}` for `{ours}` in {settings.location} "
        f"(layout {settings.layout}); {found}. Name your column in input.columns, for example {ours}: my_{ours}"
    )


def _describe_columns(names: list[str], settings: InputSettings, layout: Layout) -> str:
    """List the names that were found, but of what may be CSV only their number: they may be a person's row."""
    if settings.path is None:
        return f"it has {len(names)} columns"
    if (settings.format or layout.format) != "csv":
        return "found " + ", ".join(f"`{name}`" for name in names)
    return (
        f"the first line has {len(names)} fields, none of that name; "
        "if the files have no header, set input.header: false, and mind input.separator"
    )


def _check_types(theirs: dict[str, StructField], settings: InputSettings) -> None:
    for ours, column in theirs.items():
        if not _accepted(ours, column.dataType):
            raise InvalidInput(
                f"input: column `{column.name}` of {settings.location} is {column.dataType.simpleString()}, but "
                f"`{ours}` must be {_EXPECTED[ours]}; name another column in input.columns, or convert it"
            )


def _accepted(ours: str, kind: DataType) -> bool:
    if ours == "user_id":
        return isinstance(kind, StringType | IntegralType)
    if ours == "ts":
        return is_time(kind)
    return isinstance(kind, NumericType | StringType)
