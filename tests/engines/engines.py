"""Engines as the tests see them: they answer SQL. What differs between their dialects stands here and nowhere else.

A further engine is a further `Engine`; a further table is a further name in `TABLES`.
"""

from __future__ import annotations

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.engines.downloads import client_python

TABLES = ("cells", "pyramid", "releases", "withdrawals")
Rows = list[list[Any]]


@dataclass(frozen=True)
class Published:
    """A release to be read: where its tables lie, and what the library reads there."""

    schema: str
    tables: Path
    release: Any


@dataclass(frozen=True)
class Engine:
    """What an engine answers, and its words where SQL has no common ones."""

    name: str
    ask: Callable[[str], Rows]
    table: Callable[[Published, str], str]
    seconds: str  # of a column, since 1970
    moment: str  # a literal, from {0:%Y...} of a time in UTC
    # The comment of each column; None where the engine does not show them.
    comments: Callable[[Published, str], dict[str, str]] | None = None
    # The bytes that the engine says it read for a question; None where it does not say.
    bytes_read: Callable[[str], int] | None = None

    def at(self, moment: datetime) -> str:
        return self.moment.format(moment)


@contextmanager
def client(kind: str, port: int = 0) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Run a client in the environment of its own, and ask through it."""
    words = [str(client_python()), str(Path(__file__).with_name("client.py")), kind, str(port)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout

        def ask(sql: str) -> dict[str, Any]:
            process.stdin.write(json.dumps(sql) + "\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            answer: dict[str, Any] = json.loads(process.stdout.readline())  # type: ignore[union-attr]
            if "error" in answer:
                raise RuntimeError(f"{kind}: {sql}: {answer['error']}")
            return answer

        try:
            yield ask
        finally:
            process.kill()


def by_delta_rs() -> Engine:
    """delta-rs of the lock, by its own SQL, which is DataFusion's."""
    from deltalake import DeltaTable, QueryBuilder

    def open_table(published: Published, table: str) -> str:
        name = f"{published.schema}_{table}"
        if name not in opened:
            opened.add(name)
            builder.register(name, DeltaTable(str(published.tables / table)))
        return name

    def ask(sql: str) -> Rows:
        columns = [column.to_pylist() for column in builder.execute(sql).read_all().columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def comments(published: Published, table: str) -> dict[str, str]:
        fields = DeltaTable(str(published.tables / table)).schema().fields
        return {field.name: field.metadata.get("comment", "") for field in fields}

    builder, opened = QueryBuilder(), set[str]()
    return Engine("delta-rs", ask, open_table, "date_part('epoch', {})", "TIMESTAMP '{0:%Y-%m-%dT%H:%M:%SZ}'", comments)


def by_polars() -> Engine:
    """Polars of the lock, which reads Delta by delta-rs, and asks it by its own SQL."""
    import polars as pl

    def open_table(published: Published, table: str) -> str:
        name = f"{published.schema}_{table}"
        context.register(name, pl.scan_delta(str(published.tables / table)))
        return name

    context = pl.SQLContext(eager=True)
    return Engine(
        "polars",
        lambda sql: [list(row) for row in context.execute(sql).rows()],  # type: ignore[union-attr]
        open_table,
        "EXTRACT(EPOCH FROM {})",
        "CAST('{0:%Y-%m-%d %H:%M:%S+00:00}' AS TIMESTAMPTZ)",
    )


def by_duckdb() -> Engine:
    """DuckDB of the lock over the files that delta-rs calls live: no extension is needed."""
    import duckdb
    from deltalake import DeltaTable

    def open_table(published: Published, table: str) -> str:
        return f"read_parquet({DeltaTable(str(published.tables / table)).file_uris()!r}, hive_partitioning = true)"

    def bytes_read(sql: str) -> int:
        with duckdb.connect() as fresh:  # nothing is remembered of files that were read
            fresh.execute("PRAGMA enable_profiling = 'no_output'")
            fresh.execute(sql).fetchall()
            return int(json.loads(fresh.get_profiling_information("json"))["io"]["total_bytes_read"])

    connection = duckdb.connect()
    return Engine(
        "duckdb",
        lambda sql: [list(row) for row in connection.execute(sql).fetchall()],
        open_table,
        "epoch({})",
        "TIMESTAMPTZ '{0:%Y-%m-%d %H:%M:%S+00}'",
        bytes_read=bytes_read,
    )


@contextmanager
def by_duckdb_delta() -> Iterator[Engine]:
    """DuckDB with its own extension for Delta."""
    with client("duckdb") as ask:
        yield Engine(
            "duckdb-delta",
            lambda sql: ask(sql)["rows"],
            lambda published, table: f"delta_scan('{published.tables / table}')",
            "epoch({})",
            "TIMESTAMPTZ '{0:%Y-%m-%d %H:%M:%S+00}'",
        )


@contextmanager
def by_thrift_server(port: int, pages: int, at_path: Published) -> Iterator[Engine]:
    """Spark's Thrift server, asked by PyHive: named tables by their names; those at a path are given names first."""
    with client("hive", port) as ask:
        ask(f"CREATE SCHEMA {at_path.schema}")
        for table in TABLES:
            ask(f"CREATE TABLE {at_path.schema}.{table} USING delta LOCATION '{at_path.tables / table}'")

        def comments(published: Published, table: str) -> dict[str, str]:
            return {row[0]: row[2] for row in ask(f"DESCRIBE {published.schema}.{table}")["rows"]}

        def bytes_read(sql: str) -> int:
            before = _spark_input(pages)
            ask(sql)
            return _spark_input(pages) - before

        yield Engine(
            "spark-thrift",
            lambda sql: ask(sql)["rows"],
            lambda published, table: f"{published.schema}.{table}",
            "unix_timestamp({})",
            "TIMESTAMP '{0:%Y-%m-%d %H:%M:%S UTC}'",
            comments,
            bytes_read,
        )


def _spark_input(pages: int) -> int:
    """Return the bytes that Spark says it has read, from the pages on which it tells its metrics."""
    time.sleep(1)  # what a task says reaches the pages a little later
    address = f"http://127.0.0.1:{pages}/api/v1/applications"
    with urllib.request.urlopen(address) as answer:
        application = json.load(answer)[0]["id"]
    with urllib.request.urlopen(f"{address}/{application}/executors") as answer:
        return sum(int(executor["totalInputBytes"]) for executor in json.load(answer))


@contextmanager
def by_trino(port: int, files: Path, *published: Published) -> Iterator[Engine]:
    """Trino's connector for Delta over a metastore of its own, in which the tables are registered."""
    with client("trino", port) as ask:
        for one in published:
            ask(f"CREATE SCHEMA {one.schema}")
            for table in TABLES:
                place = (one.tables / table).relative_to(files)
                ask(f"CALL delta.system.register_table('{one.schema}', '{table}', 'local:///{place}')")

        _wait_for_nodes(lambda: ask(f"SELECT count(k) FROM {published[0].schema}.releases"))

        def comments(one: Published, table: str) -> dict[str, str]:
            return {row[0]: row[3] for row in ask(f"SHOW COLUMNS FROM {one.schema}.{table}")["rows"]}

        yield Engine(
            "trino",
            lambda sql: ask(sql)["rows"],
            lambda one, table: f"{one.schema}.{table}",
            "to_unixtime({})",
            "TIMESTAMP '{0:%Y-%m-%d %H:%M:%S UTC}'",
            comments,
            lambda sql: int(ask(sql)["bytes"]),
        )


def _wait_for_nodes(scan: Callable[[], object], seconds: float = 60.0) -> None:
    """Wait until Trino knows that it may read itself: for some seconds after its start, it has no node that does."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            scan()
            return
        except RuntimeError as problem:
            if "NO_NODES_AVAILABLE" not in str(problem) or time.monotonic() > deadline:
                raise
        time.sleep(0.2)
