"""Views and table functions over a release, made by Spark: for a session, or in a schema where they stay."""

from __future__ import annotations

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from vdr_spark.errors import InvalidConfig
from vdr_spark.release.release import Release
from vdr_spark.release.sql_functions import describe_subject, name_sources
from vdr_spark.spark_versions import condition_of
from vdr_spark.sql.dialects import choose_dialect
from vdr_spark.sql.script import Script
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import PYRAMID, RELEASES, WITHDRAWALS
from vdr_spark.storage.tables import create_if_missing, find_schema_version, is_delta_table, read_partition

_WINDOWS_SINCE = dict(RELEASES.later)["series"]  # the version of `releases` from which on it knows windows


def script_by_spark(
    spark: SparkSession,
    release: Release,
    engine: str = "spark",
    schema: str | None = None,
    prefix: str = "",
    temporary: bool = False,
) -> Script:
    """Return the script of a release, its tables at paths or under names; Spark says which of them are there."""
    assert release.output is not None
    folder, dialect = OutputFolder.at(release.output, release.tables), choose_dialect(engine)
    sums = read_partition(spark, folder.table(PYRAMID.name), PYRAMID, release.release_id)
    subject = describe_subject(release, sums is not None and not sums.isEmpty())
    sources = name_sources(dialect, folder, is_delta_table(spark, folder.table(WITHDRAWALS.name)))
    windows = find_schema_version(spark, folder.table(RELEASES.name), RELEASES) >= _WINDOWS_SINCE
    return Script(subject, dialect, sources, schema, prefix, temporary, windows)


def install_sql(spark: SparkSession, release: Release, schema: str | None = None, prefix: str = "") -> list[str]:
    """Make views and functions that stay, in a schema: by default that of the tables. Return the functions' names.

    None where the session has no SQL functions (Spark 3.5): the views are made, and queries are to be had as templates.
    A second call replaces what the first one made. Who may use them is the platform's to say, by its grants.
    """
    into = schema or release.tables
    if into is None:
        raise refuse_paths()
    folder = OutputFolder.at(str(release.output), release.tables)
    _require_schema(spark, into)
    create_if_missing(spark, folder.table(WITHDRAWALS.name), WITHDRAWALS)
    return run_script(spark, script_by_spark(spark, release, schema=into, prefix=prefix))


def refuse_paths() -> InvalidConfig:
    """Return the refusal to install for tables at a path, without a schema that was named."""
    return InvalidConfig(
        "schema must name where views and functions shall stay, for tables that are at a path: "
        "--schema catalog.schema. For a session of your own use register_views, for a file `vdr sql show`"
    )


def run_script(spark: SparkSession, script: Script) -> list[str]:
    """Make the views, then the functions as far as the session knows any; return the functions' names."""
    for statement in script.views():
        _run(spark, statement)
    for statement in script.functions():
        try:
            _run(spark, statement)
        except ParseException:  # asked, not looked up: a runtime may have more than its version says
            return []
    return script.names


def _require_schema(spark: SparkSession, schema: str) -> None:
    """Refuse a schema that is not there, before anything is made."""
    try:
        known = spark.catalog.databaseExists(schema)
    except AnalysisException as problem:
        raise _refusal(schema, problem) from None
    if not known:
        raise InvalidConfig(f"schema must name a schema that exists, not {schema}; create it, or name another")


def _run(spark: SparkSession, statement: str) -> None:
    try:
        spark.sql(statement)
    except ParseException:
        raise
    except AnalysisException as problem:
        raise _refusal(
            statement.split(" AS", 1)[0].split("(", 1)[0].removeprefix("CREATE OR REPLACE "), problem
        ) from None


def _refusal(what: str, problem: AnalysisException) -> InvalidConfig:
    reason = condition_of(problem) or "no reason given"
    return InvalidConfig(
        f"{what} cannot be made ({reason}); name a schema that exists and in which you may create views and functions"
    )
