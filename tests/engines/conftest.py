"""Two releases, and the engines that read them. A server is started once and lives as long as its tests."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT
from tests.engines.downloads import NotToBeHad
from tests.engines.engines import (
    Engine,
    Published,
    by_delta_rs,
    by_duckdb,
    by_duckdb_delta,
    by_polars,
    by_thrift_server,
    by_trino,
)
from tests.engines.releases import SCHEMA, metastore_conf, publish_at_path
from tests.engines.servers import thrift_server, trino_server
from vdr_spark import read_release


@contextmanager
def _or_skip() -> Iterator[None]:
    """Skip what needs an engine that cannot be had here, with its sentence."""
    try:
        yield
    except NotToBeHad as problem:
        pytest.skip(str(problem))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("engines")


@pytest.fixture(scope="session")
def at_path(spark: SparkSession, folder: Path) -> Published:
    return Published("at_path", folder / "out/tables", publish_at_path(spark, folder))


@pytest.fixture(scope="session")
def by_name(folder: Path, delta_jars: str) -> Published:
    """A release in named tables. What the library says of it, it reads from their files, as any folder's."""
    words = [sys.executable, "-m", "tests.engines.releases", str(folder), delta_jars]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    tables = folder / "warehouse" / f"{SCHEMA}.db"
    (folder / "seen").mkdir()
    (folder / "seen/tables").symlink_to(tables)
    return Published(SCHEMA, tables, read_release(str(folder / "seen"), done.stdout.split()[-1]))


@pytest.fixture(scope="session", params=["at_path", "by_name"])
def published(request: pytest.FixtureRequest) -> Published:
    found: Published = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def thrift_ports(by_name: Published, folder: Path, delta_jars: str) -> Iterator[tuple[int, int]]:
    """The ports of a Thrift server over the metastore that `by_name` is in."""
    assert by_name.tables.exists()
    (folder / "thrift").mkdir()
    jars = json.loads(delta_jars.partition("=")[2])
    with thrift_server(folder / "thrift", jars, metastore_conf(folder)) as ports:
        yield ports


@pytest.fixture(scope="session")
def trino_port(folder: Path) -> Iterator[int]:
    (folder / "trino").mkdir()
    with _or_skip(), trino_server(folder / "trino", folder) as port:
        yield port


@pytest.fixture(scope="session")
def delta_rs() -> Engine:
    return by_delta_rs()


@pytest.fixture(scope="session")
def polars() -> Engine:
    return by_polars()


@pytest.fixture(scope="session")
def duckdb() -> Engine:
    return by_duckdb()


@pytest.fixture(scope="session")
def duckdb_delta() -> Iterator[Engine]:
    with _or_skip(), by_duckdb_delta() as engine:
        yield engine


@pytest.fixture(scope="session")
def spark_thrift(thrift_ports: tuple[int, int], at_path: Published) -> Iterator[Engine]:
    with _or_skip(), by_thrift_server(*thrift_ports, at_path) as engine:
        yield engine


@pytest.fixture(scope="session")
def trino(trino_port: int, folder: Path, at_path: Published, by_name: Published) -> Iterator[Engine]:
    with _or_skip(), by_trino(trino_port, folder, at_path, by_name) as engine:
        yield engine


@pytest.fixture(scope="session", params=["delta_rs", "polars", "duckdb", "duckdb_delta", "spark_thrift", "trino"])
def engine(request: pytest.FixtureRequest) -> Engine:
    found: Engine = request.getfixturevalue(request.param)
    return found
