"""What engines write differently, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from vdr_spark.errors import InvalidQuery
from vdr_spark.storage.sql_names import quote_name, quote_text


@dataclass(frozen=True)
class Dialect:
    """How one engine writes names, texts, moments and functions."""

    name: str
    functions: Literal["function", "macro", "template"]
    mark: str  # around names
    backslashes: bool  # before quotes in texts; else quotes are doubled
    moment: str  # the type of an instant
    micros: str  # of an instant, since 1970
    day: str  # the date so many days after 1970-01-01
    fail: str  # ends the query with a sentence

    def quote(self, name: str) -> str:
        """Return one part of a name, quoted."""
        return quote_name(name, self.mark)

    def full_name(self, name: str) -> str:
        """Return a name of parts with dots between them, each quoted."""
        return ".".join(self.quote(part) for part in name.split("."))

    def text(self, text: str) -> str:
        return quote_text(text, self.backslashes)

    def ask(self, parameter: str) -> str:
        """Return a parameter as a query writes it: a place to fill in, where there are no functions."""
        return f":{parameter}" if self.functions == "template" else parameter

    def as_template(self) -> Dialect:
        """Return the same without functions: queries with places to fill in."""
        from dataclasses import replace

        return replace(self, functions="template")


_SPARK = Dialect(
    "spark",
    "function",
    "`",
    True,
    "TIMESTAMP",
    "unix_micros({})",
    "date_add(DATE '1970-01-01', {})",
    "raise_error({})",
)
_DUCKDB = Dialect("duckdb", "macro", '"', False, "TIMESTAMPTZ", "epoch_us({})", "DATE '1970-01-01' + {}", "error({})")
_TRINO = Dialect(
    "trino",
    "template",
    '"',
    False,
    "TIMESTAMP(6) WITH TIME ZONE",
    "to_unixtime({}) * 1.0E6",
    "date_add('day', {}, DATE '1970-01-01')",
    "fail({})",
)
# Databricks takes Spark's text as it is: SQL functions came from there.
DIALECTS = {"spark": _SPARK, "databricks": _SPARK, "duckdb": _DUCKDB, "trino": _TRINO}


def choose_dialect(engine: str) -> Dialect:
    """Return the dialect of an engine by its name."""
    if engine not in DIALECTS:
        raise InvalidQuery(f"engine must be one of {', '.join(DIALECTS)}, not {engine!r}; choose the nearest")
    return DIALECTS[engine]
