"""Two attempts of one task at the same moment, each with noise of its own, on a cluster of two machines."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest
from pyspark.sql import SparkSession

from tests.faults.invariants import check_in_the_end
from tests.faults.points import A_TASK_HANGS
from tests.faults.victim import Command, faulty

SPARK_CLASS = Path(pyspark.__file__).parent / "bin/spark-class"
SPECULATING = {
    "spark.executor.memory": "512m",
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
}


@contextmanager
def running(log: Path, *arguments: str, environment: dict[str, str] | None = None) -> Iterator[None]:
    with log.open("wb") as said:
        words = [str(SPARK_CLASS), *arguments, "--webui-port", "0"]
        process = subprocess.Popen(words, env=environment, stdout=said, stderr=subprocess.STDOUT)
    try:
        yield
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    """Spark runs no copy of a task on the host that runs the task: two workers of one core, on hosts of their own."""
    log = tmp_path / "master.log"
    with running(log, "org.apache.spark.deploy.master.Master", "-h", "127.0.0.1", "-p", "0"):
        master = _address(log)
        worker = ("org.apache.spark.deploy.worker.Worker", "-c", "1", "-m", "700m")
        with ExitStack() as workers:
            for host in ("127.0.0.2", "127.0.0.3"):
                place = ("-h", host, "-d", str(tmp_path / host))
                armed = faulty((A_TASK_HANGS,), tmp_path / "marks")  # executors have the worker's environment
                workers.enter_context(running(tmp_path / f"{host}.log", *worker, *place, master, environment=armed))
            yield master


def _address(log: Path) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if found := re.search(r"Starting Spark master at (spark://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.2)
    raise AssertionError(log.read_text())


@pytest.mark.faults
def test_a_task_that_hangs_is_overtaken_by_its_copy_and_one_drawing_is_left(
    cluster: str, spark: SparkSession, release_of: Callable[..., Command], tmp_path: Path
) -> None:
    release = release_of(tmp_path / "out", **SPECULATING | {"spark.master": cluster})
    done = release.finished_after(A_TASK_HANGS, tmp_path / "marks")
    assert done.returncode == 0, done.stdout + done.stderr
    check_in_the_end(spark, release.config, readable_before=None)
