"""Views and table functions over a release in a folder, without Spark: as text, or made in DuckDB.

`vdr_spark.sql` has the text; here is which release it is of, and where its tables are.
"""

from __future__ import annotations

from typing import Any, Protocol

from vdr_spark.release.read import read_release, release_rows
from vdr_spark.release.release import Release
from vdr_spark.sql.dialects import DIALECTS, Dialect, choose_dialect
from vdr_spark.sql.script import Script
from vdr_spark.sql.subject import Subject
from vdr_spark.sql.views import Sources
from vdr_spark.sql.windows import WINDOWS, window_steps
from vdr_spark.storage.delta_files import is_delta_table, list_files
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import CELLS, PYRAMID, RELEASES, WITHDRAWALS, Table

_SOURCES = (CELLS, PYRAMID, RELEASES, WITHDRAWALS)
_NO_WITHDRAWALS = "(SELECT '' AS release_id WHERE 1 = 0)"
_DUCKDB_TYPES = {"STRING": "VARCHAR", "TIMESTAMP": "TIMESTAMPTZ", "BIGINT": "BIGINT", "INT": "INTEGER"}


class DuckDB(Protocol):
    """What is asked of a connection to DuckDB."""

    def execute(self, query: str) -> Any: ...


def describe_subject(release: Release, pyramid: bool) -> Subject:
    """Return what SQL has to know of a release."""
    return Subject(release.release_id, release.grid, release.zone, release.sum_errors, pyramid, release.protected)


def sql_script(release: Release, engine: str, schema: str | None = None, prefix: str = "") -> Script:
    """Return the script of a release that was read from a folder, for an engine.

    For Spark over the tables at their paths. Other engines get the plain names `cells`, `releases`, `pyramid` and
    `withdrawals`: each has its own way to make a folder a table.
    """
    assert release.output is not None
    folder, dialect = OutputFolder.at(release.output), choose_dialect(engine)
    there = is_delta_table(str(folder.table(WITHDRAWALS.name)))
    sources = name_sources(dialect, folder, there)
    subject = describe_subject(release, has_pyramid(release.output, release.release_id))
    return Script(subject, dialect, sources, schema, prefix, windows=has_windows(folder))


def name_sources(dialect: Dialect, folder: OutputFolder, withdrawals: bool) -> Sources:
    """Return the tables of a folder as queries write them; without a table of withdrawals there are none."""

    def name(table: Table) -> str:
        place = folder.table(table.name)
        if not isinstance(place, str):
            return dialect.full_name(place.name)
        return f"delta.{dialect.quote(place)}" if dialect is DIALECTS["spark"] else dialect.quote(table.name)

    names = {table.name: name(table) for table in _SOURCES}
    return Sources(**names if withdrawals else names | {WITHDRAWALS.name: _NO_WITHDRAWALS})


def series_views(
    folder: OutputFolder, engine: str, schema: str | None = None, prefix: str = "", temporary: bool = False
) -> list[str]:
    """Return the statements that make the views `windows` and `series_cells`, of all series of an output.

    They need no release to be chosen: whatever is published, corrected or withdrawn later is seen in them. Written for
    tables that have a table of withdrawals, as every output with windows does.
    """
    dialect = choose_dialect(engine)

    def name(view: str) -> str:
        own = dialect.quote(prefix + view)
        return own if schema is None else f"{dialect.full_name(schema)}.{own}"

    kind = "TEMPORARY VIEW" if temporary else "VIEW"
    steps = window_steps(name_sources(dialect, folder, True), name(WINDOWS))
    return [f"CREATE OR REPLACE {kind} {name(view)} AS\n{query}" for view, query in steps]


def has_windows(folder: OutputFolder) -> bool:
    """Whether a folder holds windows of a series; older tables have no columns that would say so."""
    return any(row.get("series") is not None for row in release_rows(folder))


def has_pyramid(output: str, release_id: str) -> bool:
    """Whether the sums of a release are in a folder's tables; it may have been published before there were any."""
    return bool(list_files(str(OutputFolder.at(output).table(PYRAMID.name)), release_id=release_id))


def register_duckdb(
    connection: DuckDB, output: str, release_id: str | None = None, region: str | None = None, prefix: str = ""
) -> list[str]:
    """Make temporary views and table functions of a release in a DuckDB connection; return the functions' names.

    Over the files that are live now: what is published or withdrawn later is seen when it is called again. The
    release is chosen as by `read_release`. Nothing is written.
    """
    release = read_release(output, release_id, region)
    folder, dialect = OutputFolder.at(output), DIALECTS["duckdb"]
    names = {table.name: dialect.quote(prefix + table.name) for table in _SOURCES}
    for table in _SOURCES:
        query = _live_files(table, list_files(str(folder.table(table.name))))
        connection.execute(f"CREATE OR REPLACE TEMPORARY VIEW {names[table.name]} AS {query}")
    subject = describe_subject(release, has_pyramid(output, release.release_id))
    script = Script(subject, dialect, Sources(**names), prefix=prefix, temporary=True, windows=has_windows(folder))
    for statement in script.views() + script.functions():
        connection.execute(statement)
    return script.names


def _live_files(table: Table, files: list[str]) -> str:
    """Return a query of a table's files; of a table without any, one with its columns and no rows."""
    dialect = DIALECTS["duckdb"]
    if not files:
        columns = ", ".join(
            f"CAST(NULL AS {_DUCKDB_TYPES.get(kind, kind)}) AS {dialect.quote(name)}"
            for name, kind, _ in table.columns
            if "<" not in kind  # of a list nobody asks
        )
        return f"SELECT {columns} WHERE false"
    listed = ", ".join(dialect.text(file) for file in files)
    partition = f", hive_partitioning = true, hive_types = {{'{table.partition}': VARCHAR}}" if table.partition else ""
    # A table that got columns later has files without them.
    by_name = ", union_by_name = true" if table.later else ""
    return f"SELECT * FROM read_parquet([{listed}]{partition}{by_name})"
