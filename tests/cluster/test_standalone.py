"""A standalone cluster of two workers that proves who they are, and jobs by the lines of docs/platforms/yarn.md."""

from __future__ import annotations

import platform
import secrets
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.cluster.conftest import or_skip
from tests.cluster.environments import VERSION, WHEEL, bare_python, other_python, poor_python
from tests.cluster.servers import Cluster, standalone
from tests.cluster.submissions import BY_ARCHIVE, IN_CLIENT_MODE, THEIR_PYTHON, Job, submit
from tests.conftest import ROOT, write_pings
from tests.plans import grid_of
from vdr_spark.errors import ExitCode
from vdr_spark.privacy.entries import State

pytestmark = pytest.mark.clusters
ON_A_NODE = """
import importlib, sys
from datetime import UTC, datetime
import pyarrow as pa
for name in sys.argv[1:]:
    importlib.import_module(name)
from vdr_spark.grid import Box, Grid
from vdr_spark.release.cells import cell_rows
grid = Grid(Box(0, 0, 1, 1), 4, datetime(2020, 1, 1, tzinfo=UTC), 3600, 2)
ones = pa.array([[1.0] * 16] * 2, pa.list_(pa.float32()))
slices = pa.RecordBatch.from_pydict({"slice": [0, 1], "counts": ones, "deviation": ones})
print(sum(rows.num_rows for rows in cell_rows(grid, "a-release", True)([slices])))
"""
Submit = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    proof = {"spark.authenticate": "true", "spark.authenticate.secret": secrets.token_hex(16)}
    with standalone(tmp_path_factory.mktemp("cluster"), proof) as running:
        yield running


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job over pings of people with numbers for names, each but a few times: pandas would be of use."""
    job = Job.of(tmp_path / "job")
    write_pings(f"{job.folder}/pings", grid_of(job.config), [(person, person % 2048) for person in range(6000)])
    file = job.folder / "pings/part.parquet"
    pings = pq.read_table(file)
    pq.write_table(pings.set_column(0, "user_id", pings["user_id"].cast(pa.int64())), file)
    return job


@pytest.fixture
def by_page(cluster: Cluster, bench: Path) -> Submit:
    def run(job: Job, name: str, **replaced: str) -> subprocess.CompletedProcess[str]:
        """Submit a file of jobs/ as the page says, but for the words of `archive` and `python`."""
        words = {
            "spark://HOST:7077": cluster.master,
            "conf/houston.yaml": f"{job.folder}/houston.yaml",
            "/mnt/": f"{job.folder}/",
            "jobs/release.py": f"jobs/{name}.py",
            BY_ARCHIVE: replaced.get("archive", BY_ARCHIVE),
            THEIR_PYTHON: f"PYSPARK_PYTHON={replaced['python']}" if "python" in replaced else THEIR_PYTHON,
        }
        return submit(IN_CLIENT_MODE, bench, words, SPARK_CONF_DIR=str(cluster.conf), SPARK_LOCAL_IP="127.0.0.1")

    return run


def check_refused(done: subprocess.CompletedProcess[str], job: Job, told: str) -> None:
    """An exit code of its own, one sentence with what is missing and where, and a ledger that knows nothing of it."""
    assert done.returncode == ExitCode.ENVIRONMENT, done.stdout[-3000:]
    assert f"Spark's Python workers on {platform.node()}" in _flat(done.stdout)
    assert told in _flat(done.stdout)
    assert "Nothing was reserved." in _flat(done.stdout)
    assert "Traceback" not in done.stdout
    assert not (job.output / "tables").exists()


def _flat(text: str) -> str:
    return " ".join(text.split())


def test_nothing_sent_along(by_page: Submit, job: Job) -> None:
    with or_skip():
        done = by_page(job, "release", archive="", python=str(bare_python()))
    check_refused(done, job, "cannot import numpy, pyarrow, vdr_spark.")


def test_the_wheel_as_it_is(by_page: Submit, job: Job) -> None:
    with or_skip():
        done = by_page(job, "release", archive=f"--py-files {WHEEL}", python=str(poor_python()))
    check_refused(done, job, "cannot import vdr_spark. Of --py-files Spark takes .zip, .egg and .py only")


def test_another_vdr_spark_on_the_nodes(by_page: Submit, job: Job) -> None:
    with or_skip():
        done = by_page(job, "release", archive="", python=str(other_python()))
    check_refused(done, job, f"have another vdr_spark than this process (0.0.9, here {VERSION}; the code differs)")


def test_the_wheel_called_zip_and_nodes_with_numpy_and_pyarrow(
    by_page: Submit, bench: Path, job: Job, tmp_path: Path
) -> None:
    """All that runs on nodes runs with these two: made-up pings, collect, publish, audit."""
    sent = shutil.copy(bench / WHEEL, tmp_path / "vdr_spark.zip")
    shutil.rmtree(job.folder / "pings")
    with or_skip():
        for name in ("synth", "release", "audit"):
            done = by_page(job, name, archive=f"--py-files {sent}", python=str(poor_python()))
            assert done.returncode == 0, done.stdout[-5000:]
    assert "All of it holds." in _flat(done.stdout)


def test_what_runs_on_nodes_needs_numpy_and_pyarrow_only(bench: Path) -> None:
    """What no job here does: cells are published through Spark where they go to a store or a catalog."""
    with or_skip():
        words = [str(poor_python()), "-c", ON_A_NODE, *tasks_modules()]
    done = subprocess.run(words, env={"PYTHONPATH": str(bench / WHEEL)}, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["32"], done.stderr


def tasks_modules() -> list[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed: list[str] = next(of["source_modules"] for of in contracts if "workers" in of["name"])
    return listed


def test_the_packed_environment(by_page: Submit, job: Job) -> None:
    for name in ("release", "audit"):
        done = by_page(job, name)
        assert done.returncode == 0, done.stdout[-5000:]
        assert "in the clear" not in done.stdout  # what executors are told is encrypted
    assert "All of it holds." in _flat(done.stdout)
    assert job.states() == {State.GRANTED: 1, State.RESERVED: 1, State.SPENT: 1}
    assert job.tensor().shape == (8, 256)
