"""YARN, as Hadoop's own mini cluster starts it, and a release by the lines of docs/platforms/yarn.md in both modes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.conftest import or_skip
from tests.cluster.servers import write_settings, yarn
from tests.cluster.submissions import BY_ARCHIVE, IN_CLIENT_MODE, ON_YARN, THEIR_PYTHON, Job, submit
from tests.conftest import write_pings
from tests.plans import grid_of
from vdr_spark.privacy.entries import State

pytestmark = pytest.mark.clusters
# What the page says of plain paths, but for the staging folder: there is no HDFS here.
ON_THE_DISK = "--conf spark.hadoop.fs.defaultFS=file:///"


@pytest.fixture(scope="module")
def hadoop_conf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with or_skip(), yarn(tmp_path_factory.mktemp("yarn")) as conf:
        yield conf


@pytest.fixture
def environment(hadoop_conf: Path, tmp_path: Path) -> dict[str, str]:
    one = {
        "spark.executor.instances": "1",
        "spark.yarn.am.memory": "512m",
        "spark.yarn.stagingDir": f"{tmp_path}/staging",
    }
    settings = write_settings(tmp_path / "conf", one)
    return {"HADOOP_CONF_DIR": str(hadoop_conf), "SPARK_CONF_DIR": str(settings), "SPARK_LOCAL_IP": "127.0.0.1"}


@pytest.fixture
def job(tmp_path: Path) -> Job:
    job = Job.of(tmp_path / "job")
    write_pings(f"{job.folder}/pings", grid_of(job.config), [(f"p{n % 900}", n % 2048) for n in range(6000)])
    return job


def check_released(job: Job) -> None:
    assert job.states() == {State.GRANTED: 1, State.RESERVED: 1, State.SPENT: 1}
    assert job.tensor().shape == (8, 256)
    assert list((job.output / "statements").glob("*.json"))


def test_a_release_in_cluster_mode(bench: Path, job: Job, environment: dict[str, str]) -> None:
    words = {
        "--files conf/houston.yaml": f"--files {job.folder}/houston.yaml",
        "input.path=hdfs:///pings": f"input.path={job.folder}/pings",
        "output=hdfs:///releases/houston": f"output={job.output}",
        " --set ledger=hdfs:///releases/ledger --set single_writer=true": "",
        "--conf spark.executor.memoryOverhead=4g": f"--conf spark.executor.memoryOverhead=1g {ON_THE_DISK}",
    }
    done = submit(ON_YARN, bench, words, **environment)
    assert done.returncode == 0, done.stdout[-5000:] + logs_of_yarn(environment)
    check_released(job)


def test_a_release_in_client_mode(bench: Path, job: Job, environment: dict[str, str]) -> None:
    """With the environment at the same path on every node: without Hadoop's native code YARN unpacks for minutes."""
    words = {
        "--master spark://HOST:7077": f"--master yarn {ON_THE_DISK}",
        BY_ARCHIVE: "",
        THEIR_PYTHON: "PYSPARK_PYTHON=$PWD/vdr-env/bin/python",
        "conf/houston.yaml": f"{job.folder}/houston.yaml",
        "/mnt/": f"{job.folder}/",
    }
    for name in ("release", "audit"):
        done = submit(IN_CLIENT_MODE, bench, words | {"jobs/release.py": f"jobs/{name}.py"}, **environment)
        assert done.returncode == 0, done.stdout[-5000:] + logs_of_yarn(environment)
    assert "All of it holds." in done.stdout
    check_released(job)


def logs_of_yarn(environment: dict[str, str]) -> str:
    """Return the ends of what containers said, which no client sees."""
    data = Path(environment["HADOOP_CONF_DIR"]).parent
    logs = sorted(data.rglob("std*"), key=os.path.getmtime)[-4:]
    return "".join(f"\n--- {log}\n{log.read_text(errors='replace')[-2500:]}" for log in logs if log.is_file())
