"""Whatever a dataset calls a time, as an instant: a Spark TIMESTAMP that no session's time zone can move.

* a TIMESTAMP is an instant already;
* a TIMESTAMP_NTZ, or text without a zone, is a wall clock in the zone that the settings or the layout name;
* text with a zone ("...Z", "+08:00", "America/Chicago") means what it says;
* a number, or text of nine or more digits, counts from 1970 (UTC) in the unit that its size tells: seconds
  below 1e11, milliseconds below 1e14, microseconds below 1e17, else nanoseconds. Each of these limits lies
  between the years 1973 and 5138 in both units, and the rule looks at one value at a time;
* Parquet's nanoseconds, which Spark gives as numbers, are instants or wall clocks as the files say.

What cannot be read, or lies outside the years 1 to 9999, becomes null: an extreme value must not overflow
the arithmetic of later stages and so fail the whole job.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, NumericType, StringType, TimestampNTZType, TimestampType

from vdr_spark.spark_versions import try_cast

_FIRST_US, _LAST_US = -62_135_596_800_000_000, 253_402_300_799_999_999  # the years 1 to 9999
_DIGITS = r"^\s*-?\d{9,}(\.\d*)?\s*$"
_ZONED = r"\d-\d{1,2}[T ]\s*\d{1,2}:\d{2}(:\d{2}(\.\d*)?)?\s*[A-Za-z+-]"  # a sign or a letter after the time


def is_time(kind: DataType) -> bool:
    """Tell whether `instant` can read columns of this type."""
    return isinstance(kind, NumericType | StringType | TimestampNTZType | TimestampType)


def instant(value: Column, kind: DataType, zone: str, skip: int = 0, pattern: str | None = None) -> Column:
    """Return the instant that `value`, a column of type `kind`, stands for; null where it stands for none."""
    if isinstance(kind, TimestampType):
        moment = value
    elif isinstance(kind, TimestampNTZType):
        moment = _wall_clock(value, zone)
    elif isinstance(kind, NumericType):
        moment = _epoch(value)
    elif pattern is not None:
        moment = F.try_to_timestamp(F.substr(value, F.lit(skip + 1)), F.lit(pattern))
    else:
        moment = _text(value, zone)
    earliest, latest = F.timestamp_micros(F.lit(_FIRST_US)), F.timestamp_micros(F.lit(_LAST_US))
    return F.when(moment.between(earliest, latest), moment)


def instant_of_nanoseconds(value: Column, zone: str) -> Column:
    """Return the instant of a number of nanoseconds since 1970 on a clock in `zone`, rounded down to microseconds."""
    # All that 64 bits hold lies between the years 1677 and 2262.
    return F.to_utc_timestamp(F.timestamp_micros(_floor(value)), zone)


def _text(value: Column, zone: str) -> Column:
    # A plain cast would read text without a zone in the session's.
    return (
        F.when(value.rlike(_DIGITS), _epoch(try_cast(value, "double")))
        .when(value.rlike(_ZONED), try_cast(value, "timestamp"))
        .otherwise(_wall_clock(try_cast(value, "timestamp_ntz"), zone))
    )


def _wall_clock(value: Column, zone: str) -> Column:
    """Return the instant at which a clock in `zone` shows `value`; an hour that DST skips is read an hour later."""
    # Casting TIMESTAMP_NTZ to TIMESTAMP goes through the session's zone. unix_timestamp of one does not: it
    # counts the seconds of the clock's face as though it hung in UTC, where to_utc_timestamp expects them.
    seconds = F.unix_timestamp(value)
    # Before anything is multiplied or moved: times near the ends of what Spark can hold would overflow.
    seconds = F.when(seconds.between(_FIRST_US // 1_000_000, _LAST_US // 1_000_000), seconds)
    second = F.extract(F.lit("SECOND"), value)
    micros = seconds * 1_000_000 + ((second - F.floor(second)) * 1_000_000).cast("bigint")
    return F.to_utc_timestamp(F.timestamp_micros(micros), zone)


def _epoch(value: Column) -> Column:
    number = try_cast(value, "bigint")
    micros = (
        F.when(number.between(-(10**11), 10**11), number * 1_000_000)
        .when(number.between(-(10**14), 10**14), number * 1_000)
        .when(number.between(-(10**17), 10**17), number)
        .otherwise(_floor(number))
    )
    return F.timestamp_micros(micros)


def _floor(nanoseconds: Column) -> Column:
    """Round down to microseconds: no time moves into the next slice. (`/` would round, `div` goes towards zero.)"""
    below = F.when(nanoseconds % 1_000 < 0, 1).otherwise(0)
    return F.call_function("div", nanoseconds, F.lit(1_000)) - below
