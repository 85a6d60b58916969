"""How single values of a configuration are written, and in words: `epsilon: 1/3`, `pings: 5e7`, `slice: 3h`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

MOMENT_RULE = "must be a date or time such as 2020-01-07 or 2020-01-07T06:00"

# Patterns of text, each with its rule in words. Names become folder names, table values and SQL literals: nothing that
# needs quoting. Places have no backticks: Delta writes a table's path between them, as it is, into SQL.
NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
LOCATION = r"^[^\x00-\x1f\x7f`]+$"
TABLE = r"^[A-Za-z0-9_-]{1,255}(\.[A-Za-z0-9_-]{1,255}){0,2}$"
SCHEMA = r"^[A-Za-z0-9_-]{1,255}(\.[A-Za-z0-9_-]{1,255})?$"
MEMORY = r"^[0-9]+[mg]$"
PATTERN_RULES = {
    NAME: "must be a name of small letters a-z, digits, - and _, at most 63 of them, the first a letter or a digit",
    LOCATION: "must be a path or a URI, not empty, without backticks, line breaks and other control characters",
    TABLE: "must be the name of a table, as pings, schema.pings or catalog.schema.pings, of letters, digits, - and _",
    SCHEMA: "must be the name of a schema, as mobility or main.mobility, of letters, digits, - and _",
    MEMORY: "must be megabytes or gigabytes, such as 800m or 12g",
}


@dataclass(frozen=True)
class Written:
    """How a kind of value is written, in words for the reference of settings."""

    how: str


_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86_400, "w": 604_800}
_LONGEST = 36_525 * _UNITS["d"]


def parse_epsilon(value: object) -> Fraction:
    """An exact positive number: 6, 0.2 (taken as the decimal that was written), "1/3"."""
    rule = "must be a positive number, as a decimal (0.2) or a fraction (1/5)"
    if isinstance(value, bool) or not isinstance(value, int | float | str | Fraction):
        raise ValueError(rule)
    text = str(value).strip()
    exponent = re.search(r"[eE]([+-]?\d+)$", text)
    if "_" in text:  # Python would take 1e1_000 for a number, and a long while
        raise ValueError(rule)
    if len(text) > 60 or (exponent and abs(int(exponent[1])) > 18):
        raise ValueError("must be written with at most 18 digits")
    try:
        epsilon = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(rule) from None
    if epsilon <= 0:
        raise ValueError(rule)
    # Beyond this the exact thresholds of the noise would be computed from numbers of absurd length.
    if max(epsilon.numerator, epsilon.denominator) > 10**18:
        raise ValueError("must be written with at most 18 digits")
    return epsilon


def parse_delta(value: object) -> Fraction:
    """An exact number between 0 and 1: 1e-9, "1/1000000"."""
    rule = "must be a number above 0 and below 1, such as 1e-9: a small one, below 1 / N"
    try:
        delta = parse_epsilon(value)
    except ValueError as problem:
        raise ValueError(str(problem) if "digits" in str(problem) else rule) from None
    if delta >= 1:
        raise ValueError(rule)
    return delta


def parse_count(value: object) -> object:
    """A whole number, also as 5e7, "5e7" or 50_000_000."""
    if isinstance(value, bool):
        raise ValueError("must be a whole number")
    if not isinstance(value, int | float | str):
        return value
    try:
        number = Decimal(value if isinstance(value, int) else str(value).replace("_", ""))
        if number != number.to_integral_value() or abs(number) > 10**18:
            raise ValueError("must be a whole number of at most 18 digits")
    except ArithmeticError:
        raise ValueError("must be a whole number of at most 18 digits") from None
    return int(number)


def parse_seconds(value: object) -> int:
    """A length of time: "3h", "30min", "1d", "1w", or seconds."""
    match = re.fullmatch(r"(\d{1,7})\s*(s|min|h|d|w)?", str(value).strip())
    if match is None or isinstance(value, bool) or int(match[1]) == 0:
        raise ValueError('must be a length of time such as "30min", "3h", "1d" or "1w"')
    seconds = int(match[1]) * _UNITS[match[2] or "s"]
    if seconds > _LONGEST:
        raise ValueError("must be at most 100 years (36525d)")
    return seconds


def parse_moment(value: object) -> object:
    """A date or time; a plain number would be taken for seconds since 1970, which nobody means by 20200107."""
    if isinstance(value, int | float):
        raise ValueError(MOMENT_RULE)
    return value


def parse_window(value: object) -> str:
    """The name of a window: a week, or a day, which YAML takes for a date. Which window that is, a calendar says."""
    text = value.isoformat() if isinstance(value, date) and not isinstance(value, datetime) else value
    if not isinstance(text, str) or not re.fullmatch(r"\d{4}-([Ww]\d{2}|\d{2}-\d{2})", text):
        raise ValueError("must be a week such as 2020-W05 or a day such as 2020-01-06")
    return text.upper()


def check_year(moment: datetime) -> datetime:
    if not 1900 <= moment.year <= 2200:
        raise ValueError("must lie in the years 1900 to 2200")
    return moment


def parse_zone(value: object) -> str:
    """A time zone by its IANA name."""
    try:
        return ZoneInfo(str(value)).key
    except (KeyError, ValueError, OSError):
        raise ValueError('must be an IANA time zone such as "UTC" or "America/Chicago"') from None


def parse_jars(value: object) -> object:
    """Where Delta's jars come from: a word, or a list of files."""
    files = isinstance(value, list) and all(isinstance(file, str) and re.match(LOCATION, file) for file in value)
    if value not in ("maven", "provided") and not (files and value):
        raise ValueError("must be `maven`, `provided`, or a list of jar files such as [a.jar, b.jar]")
    return value
