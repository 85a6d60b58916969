"""A worker dies in mid-collect, and Spark speculates: one draw, one spend, and nobody counts for more than k pings."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil
import pytest

from tests.cluster.environments import clean_environment
from tests.cluster.servers import Cluster, kill_tree, standalone
from tests.cluster.submissions import BY_ARCHIVE, IN_CLIENT_MODE, THEIR_PYTHON, Job, rewrite
from tests.conftest import write_pings
from tests.faults.points import DRAW_NOISE, AtCall
from tests.faults.victim import INJECT, faulty
from tests.plans import grid_of
from vdr_spark.privacy.entries import State

pytestmark = pytest.mark.clusters
K, OFTEN, SELDOM = 7, 60, 3
PEOPLE, CELLS_EACH, FILES = 200, 10, 6
# Where the worker is when it dies: in the tasks that bound people, with the shuffle's files of others; in the noise.
WHERE = (
    AtCall("counts of a second task", "after", "vdr_spark.collect.packed_counts:add_up", call=2, then="hang"),
    AtCall("half of the noise", "after", DRAW_NOISE, call=4, then="hang"),
)
SPECULATING = {
    "spark.speculation": "true",
    "spark.speculation.interval": "100ms",
    "spark.speculation.quantile": "0.1",
    "spark.shuffle.io.maxRetries": "1",  # of a host that is gone
}
NO_NOISE = ("privacy.epsilon=1e6", "privacy.accept_weak_promise=true", "privacy.budget=1e9")


@pytest.fixture(params=WHERE, ids=lambda point: point.name)
def point(request: pytest.FixtureRequest) -> AtCall:
    found: AtCall = request.param
    return found


@pytest.fixture
def cluster(tmp_path: Path, point: AtCall) -> Iterator[Cluster]:
    """Two workers, one of which will come by the point, and hang there until it is killed."""
    (marks := tmp_path / "marks").mkdir()
    armed = {key: value for key, value in faulty((point,), marks).items() if key.startswith("VDR_")}
    with standalone(tmp_path / "cluster", SPECULATING, **armed, PYTHONPATH=str(INJECT)) as running:
        yield running


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """People with ten cells of their own each, their pings spread over all files; the last twenty have few."""
    # The declared N asks for eight tasks that bound people; nothing else hangs on it.
    job = Job.of(tmp_path / "job", *NO_NOISE, f"privacy.k={K}", "privacy.total_pings=2e6")
    pings = [
        (f"person-{person}", person * CELLS_EACH + number % CELLS_EACH)
        for person in range(PEOPLE)
        for number in range(OFTEN if person < PEOPLE - 20 else SELDOM)
    ]
    for file in range(FILES):
        write_pings(f"{job.folder}/written", grid_of(job.config), pings[file::FILES])
        (job.folder / "pings").mkdir(exist_ok=True)
        Path(job.folder, "written/part.parquet").rename(job.folder / f"pings/{file}.parquet")
    return job


def test_a_worker_dies_in_mid_collect(cluster: Cluster, bench: Path, job: Job, point: AtCall, tmp_path: Path) -> None:
    # The same environment at the same path on every node, in place of an archive.
    lines = rewrite(
        IN_CLIENT_MODE,
        {
            BY_ARCHIVE: "",
            THEIR_PYTHON: "PYSPARK_PYTHON=$PWD/vdr-env/bin/python",
            "spark://HOST:7077": cluster.master,
            "conf/houston.yaml": f"{job.folder}/houston.yaml",
            "/mnt/": f"{job.folder}/",
            "jobs/release.py": "jobs/collect.py",
        },
    )
    environment = clean_environment() | {"SPARK_CONF_DIR": str(cluster.conf), "SPARK_LOCAL_IP": "127.0.0.1"}
    with (tmp_path / "said").open("wb") as said:
        submitted = subprocess.Popen(["bash", "-ec", lines], cwd=bench, env=environment, stdout=said, stderr=said)
    try:
        hanging = _wait_for_mark(tmp_path / "marks" / point.name, submitted)
        kill_tree(cluster.worker_of(hanging))
        submitted.wait(timeout=600)
    finally:
        if submitted.poll() is None:
            kill_tree(psutil.Process(submitted.pid))
    told = (tmp_path / "said").read_text()
    assert submitted.returncode == 0, told[-5000:]
    assert "Lost executor" in told
    assert "in the clear" in told  # nothing is encrypted between these machines, and that is said
    assert job.states() == {State.GRANTED: 1, State.RESERVED: 1, State.SPENT: 1}
    kept = job.tensor().reshape(-1)[: PEOPLE * CELLS_EACH].reshape(PEOPLE, CELLS_EACH).sum(axis=1)
    assert kept.max() <= K
    assert np.array_equal(kept, [K] * (PEOPLE - 20) + [SELDOM] * 20)
    assert job.tensor().sum() == kept.sum()


def _wait_for_mark(mark: Path, submitted: subprocess.Popen[bytes]) -> int:
    """Return the id of the process that hangs."""
    deadline = time.monotonic() + 600
    while time.monotonic() < deadline and submitted.poll() is None:
        if mark.exists() and (written := mark.read_text()):
            return int(written)
        time.sleep(0.02)
    raise AssertionError(f"`{mark.name}` was never reached")
