"""A whole release over a remote session, against a real Spark Connect server on loopback with Hive's metastore.

Server and client are processes of their own. What the client does is in `connect_client`; here is what must come of it.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.conftest import QUICK, ROOT
from tests.spark.connect_client import SEED, configure, middle
from vdr_spark import Publisher

pytest.importorskip("grpc", reason="the client of Spark Connect is not installed: vdr-spark[connect]")
_SECONDS_TO_START = 120
_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"


@pytest.fixture(scope="module")
def server(delta_jars: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a server, on a free port, with tables in a metastore of its own."""
    folder = tmp_path_factory.mktemp("server")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    conf = QUICK | {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "America/New_York",  # somebody else's, and none of our business
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    jars = ",".join(json.loads(delta_jars.partition("=")[2]))
    submit = [f"{pyspark.__path__[0]}/bin/spark-submit", "--master=local[2]", "--driver-memory=2g", f"--jars={jars}"]
    settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)}
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [*submit, *settings, "--class", _SERVER, "spark-internal"],
            cwd=folder,  # where Derby keeps the metastore
            env={name: value for name, value in environment.items() if not name.startswith("PYSPARK_GATEWAY")},
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_for(port, process, folder / "log")
        yield f"sc://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # its Python workers too
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket() as trial:
            if trial.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.2)
    pytest.fail(f"no Spark Connect server: {log.read_text(errors='replace')[-2000:]}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client")


@pytest.fixture(scope="module")
def told(server: str, folder: Path) -> dict[str, Any]:
    """What the client says of its releases."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.spark.connect_client", str(folder)],
        cwd=ROOT,
        env=os.environ | {"SPARK_REMOTE": server, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def test_a_remote_release_is_what_a_classic_one_is(
    spark: SparkSession, told: dict[str, Any], folder: Path, tmp_path: Path
) -> None:
    here = Publisher(configure(tmp_path, SEED, f"input.path={folder}/pings"), spark).release()
    there = told["files"]
    assert there["remote"].startswith("pyspark.sql.connect")
    np.testing.assert_array_equal(np.array(there["counts"], np.float32), here.counts.ravel())
    np.testing.assert_array_equal(np.array(there["deviation"], np.float32), here.deviation.ravel())  # type: ignore[union-attr]
    assert there["answer"] == str(middle(here))
    assert there["cells"] == there["frame"] == here.counts.size
    assert there["again"] is False


def test_a_remote_release_is_audited(told: dict[str, Any]) -> None:
    files, table = told["files"]["audit"], told["table"]["audit"]
    assert {check for check, holds in files.items() if holds is not True} == {"protected"}  # it is from a seed
    assert all(holds is True for holds in table.values())


def test_a_table_by_its_name_is_released_once(told: dict[str, Any]) -> None:
    table = told["table"]
    assert table["cells"] == 8 * 16 * 16
    assert not table["in the folder"]
    assert table["protected"]
    assert table["answer"].startswith("About 6,000 pings")
    assert table["refusal"].startswith("BudgetExceeded")
    assert table["spent"] == table["of"]


def test_names_of_folders_are_text_while_they_are_read(told: dict[str, Any]) -> None:
    """A remote session looks at the files again when it computes, after they were opened."""
    assert told["users"] == 2


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("view", "InvalidInput: input: table connect_view is computed by a plan with something that cannot be looked"),
        ("temporary view", "something that cannot be looked at (a view"),
        ("no table", "InvalidInput: input.table: there is no table or view no_such.table"),
        ("nothing there", "InvalidInput: input.path: there is nothing at"),
        ("no Delta table", "is no Delta table; set input.format"),
        ("damaged file", "cannot be read: it is damaged"),
        ("frame", "something that cannot be looked at (a DataFrame over Spark Connect)"),
        ("vouched frame", "done"),
    ],
)
def test_what_cannot_be_looked_at_must_be_vouched_for(told: dict[str, Any], what: str, words: str) -> None:
    assert words in told["refused"][what]
