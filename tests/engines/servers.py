"""Real servers for a while: on loopback, on a free port, and always ended."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tests.engines.downloads import TRINO_JAVA, find_java, trino_home

_SECONDS_TO_START = 240
_THRIFT_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(words: list[str], folder: Path, ready: str, **environment: str) -> Iterator[None]:
    """Run a server until the block ends; it is ready when its log has these words."""
    log = folder / "log"
    with log.open("wb") as file:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK_GATEWAY")}
        process = subprocess.Popen(
            words, cwd=folder, env=kept | environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        _wait_for(ready, process, log)
        yield
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _wait_for(ready: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _SECONDS_TO_START
    while time.monotonic() < deadline and process.poll() is None:
        if ready in log.read_text(errors="replace"):
            return
        time.sleep(0.2)
    raise RuntimeError(f"no server came up; the end of {log}: {log.read_text(errors='replace')[-3000:]}")


@contextmanager
def thrift_server(folder: Path, jars: list[str], conf: dict[str, str]) -> Iterator[tuple[int, int]]:
    """Run Spark's Thrift server with Delta; yield its port, and that of the pages on which it tells its metrics."""
    port, pages = free_port(), free_port()
    settings = conf | {
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.session.timeZone": "America/New_York",  # a server's zone must not move an instant
        "spark.hadoop.hive.server2.thrift.bind.host": "127.0.0.1",
        "spark.hadoop.hive.server2.thrift.port": str(port),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.port": str(pages),
    }
    words = [f"{pyspark.__path__[0]}/bin/spark-submit", "--master=local[2]", "--driver-memory=2g"]
    # Not --jars: a connection that names its schema, as those of BI tools do, would not find Delta's classes.
    words += [
        f"--driver-class-path={':'.join(jars)}",
        *(part for pair in settings.items() for part in ("--conf", "=".join(pair))),
    ]
    words += ["--class", _THRIFT_SERVER, "spark-internal"]
    with running(words, folder, "HiveThriftServer2 started", SPARK_LOCAL_IP="127.0.0.1", JDK_JAVA_OPTIONS=""):
        yield port, pages


@contextmanager
def trino_server(folder: Path, files: Path) -> Iterator[int]:
    """Run Trino with a catalog `delta` that may read below `files`; yield its port."""
    home, java, port = trino_home(), find_java(TRINO_JAVA), free_port()
    _write_properties(
        folder / "config.properties",
        {
            "coordinator": "true",
            "node-scheduler.include-coordinator": "true",
            "node.bind-ip": "127.0.0.1",
            "node.internal-address": "127.0.0.1",
            "http-server.http.port": str(port),
            "discovery.uri": f"http://127.0.0.1:{port}",
            "plugin.dir": f"{home}/plugin",
            "catalog.config-dir": f"{folder}/catalog",
            "query.max-memory-per-node": "512MB",
        },
    )
    _write_properties(
        folder / "catalog" / "delta.properties",
        {
            "connector.name": "delta_lake",
            "hive.metastore": "file",
            "hive.metastore.catalog.dir": "local:///trino-metastore",
            "fs.native-local.enabled": "true",
            "local.location": str(files),
            "delta.register-table-procedure.enabled": "true",
        },
    )
    words = [f"{java}/bin/java", "-Xmx2g", "-XX:+UseSerialGC", "--add-modules=jdk.incubator.vector"]
    words += ["--enable-native-access=ALL-UNNAMED", "--add-opens=java.base/java.nio=ALL-UNNAMED"]
    words += ["-Dnode.environment=test", f"-Dnode.data-dir={folder}/data", f"-Dconfig={folder}/config.properties"]
    words += ["-cp", f"{home}/lib/*", "io.trino.server.TrinoServer"]
    with running(words, folder, "SERVER STARTED", JDK_JAVA_OPTIONS=""):
        yield port


def _write_properties(file: Path, properties: dict[str, str]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{name}={value}\n" for name, value in properties.items()))
