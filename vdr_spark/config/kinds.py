"""Kinds of values that settings share: what they are in Python, how they are read, and how they are written."""

from __future__ import annotations

from datetime import datetime
from fractions import Fraction
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PlainSerializer

from vdr_spark.config.values import (
    LOCATION,
    MEMORY,
    NAME,
    SCHEMA,
    TABLE,
    Written,
    check_year,
    parse_count,
    parse_delta,
    parse_epsilon,
    parse_jars,
    parse_moment,
    parse_seconds,
    parse_window,
    parse_zone,
)

Epsilon = Annotated[
    Fraction, BeforeValidator(parse_epsilon), PlainSerializer(str), Written("exact number, as `6`, `0.2` or `1/3`")
]
Delta = Annotated[
    Fraction, BeforeValidator(parse_delta), PlainSerializer(str), Written("exact number below 1, as `1e-9`")
]
Count = Annotated[int, BeforeValidator(parse_count), Written("whole number, also as `5e7`")]
Seconds = Annotated[int, BeforeValidator(parse_seconds), Written("length of time, as `30min`, `3h`, `1d`, `1w`")]
Zone = Annotated[str, BeforeValidator(parse_zone), Written("time zone by its IANA name, as `America/Chicago`")]
Moment = Annotated[
    datetime,
    BeforeValidator(parse_moment),
    AfterValidator(check_year),
    Written("date or time, as `2020-01-07` or `2020-01-07T06:00`"),
]
WindowName = Annotated[str, BeforeValidator(parse_window), Written("name of a window, as `2020-W05` or `2020-01-06`")]
Name = Annotated[str, Field(pattern=NAME), Written("name of a-z, 0-9, - and _")]
Degrees = Annotated[float, Field(allow_inf_nan=False), Written("degrees")]
# Paths are strings, not `pathlib`: they may be s3a://, abfss:// or a Unity Catalog volume.
Location = Annotated[str, Field(pattern=LOCATION), Written("path or URI")]
TableName = Annotated[str, Field(pattern=TABLE), Written("name of a table")]
SchemaName = Annotated[str, Field(pattern=SCHEMA), Written("name of a schema, as `schema` or `catalog.schema`")]
Memory = Annotated[str, Field(pattern=MEMORY), Written("megabytes or gigabytes, as `800m`, `12g`")]
Jars = Annotated[
    Literal["maven", "provided"] | list[Location],
    BeforeValidator(parse_jars),
    Written("`maven`, `provided`, or a list of jar files"),
]
