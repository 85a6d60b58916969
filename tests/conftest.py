"""What tests share: one Spark session (starting it costs more than most tests), and small configurations."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml
from xdist.scheduler import LoadFileScheduling

from vdr_spark.config import ReleaseConfig, load_config
from vdr_spark.config.settings import SparkSettings
from vdr_spark.grid import Grid

if TYPE_CHECKING:  # what a test does not use, it does not wait for
    from pyspark.sql import SparkSession
    from xdist.remote import Producer
    from xdist.scheduler.protocol import Scheduling

ROOT = Path(__file__).parent.parent

# A city of 16 x 16 cells and one day, small enough to release in seconds.
SMALL = (
    "grid.cells_per_side=16",
    "period.end=2020-01-08",
    "synth.pings=6000",
    "privacy.total_pings=6000",
    "privacy.k=20",
    "denoise.model=temporal",
    "denoise.vqvae={epochs: 1}",
    "denoise.blindspot={steps: 2, batch_size: 2, crop_size: 16}",
)


# Spark's JVM lives for minutes here: compiling for hours of work would cost more than it gains. With one compiler Java
# keeps 48 MB for what it compiled. Spark fills them, and a thread would be busy looking for what to throw out.
os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m")


# A session of tests runs hundreds of tiny jobs: what Spark compiles for one of them would never pay. A job by
# spark-submit (tests/cluster) runs with Spark's own settings.
QUICK = {
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.leafNodeDefaultParallelism": "1",  # of tables of a few lines, which Delta makes
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.databricks.delta.snapshotPartitions": "1",
    # Files beside the log and statistics that no reader of ours looks at; Hadoop forks a process for each of them.
    "spark.databricks.delta.writeChecksumFile.enabled": "false",
    "spark.databricks.delta.stats.collect": "false",
    "spark.sql.ui.explainMode": "simple",  # of plans that nobody looks at
}

INTERNAL_ERRORS: list[str] = []
# The fixtures that tell a test's tier.
MARKS_BY_FIXTURE = {"spark": "spark", "one_thread": "training"}
# Files that take half a minute or more. They come first, so that no process is left alone with one of them in the end.
LONGEST_FIRST = (
    "collect/test_stage.py",
    "cluster/test_processes.py",
    "audit/test_checks.py",
    "test_pipeline.py",
    "spark/test_connect.py",
    "test_named_tables.py",
    "privacy/test_ledger.py",
    "collect/test_noisy_tensor.py",
    "denoise/priors/test_distributed.py",
    "denoise/networks/test_training_precision.py",
    "denoise/estimation/test_accuracy.py",
    "statistical/test_collect.py",
    "collect/test_total.py",
    "test_publisher.py",
    "adversarial_input/test_files.py",
    "side_channels/test_channels.py",
    "collect/test_counting.py",
    "side_channels/test_extremes.py",
)
# These files share a demo (the fixture `demo_folder`): one process runs it, for all of them.
OVER_THE_DEMO = (
    "cli/test_app.py",
    "cli/test_demo.py",
    "release/test_publish.py",
    "release/test_read.py",
    "test_engines_page.py",
    "test_notebooks.py",
    "test_readme.py",
)


def file_of(nodeid: str) -> str:
    return nodeid.split("::", 1)[0].removeprefix("tests/")


@pytest.hookimpl(tryfirst=True)  # before -m chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        for fixture in MARKS_BY_FIXTURE.keys() & fixtures:
            item.add_marker(MARKS_BY_FIXTURE[fixture])
        if "demo_folder" in fixtures and file_of(item.nodeid) not in OVER_THE_DEMO:
            raise pytest.UsageError(f"{item.nodeid} uses the demo: name its file in OVER_THE_DEMO (tests/conftest.py)")
    rank = {file: place for place, file in enumerate((*LONGEST_FIRST, *OVER_THE_DEMO))}
    items.sort(key=lambda item: rank.get(file_of(item.nodeid), len(rank)))


class ByFileOrDemo(LoadFileScheduling):
    """Tests of one file go to one process, and those over the demo go to one process together."""

    def _split_scope(self, nodeid: str) -> str:
        return "demo" if file_of(nodeid) in OVER_THE_DEMO else str(super()._split_scope(nodeid))


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling | None:
    return ByFileOrDemo(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(optionalhook=True)  # pytest-xdist's
def pytest_handlecrashitem(crashitem: str, report: pytest.TestReport, sched: Scheduling) -> None:
    """End the run when one of its processes dies: xdist would give the same test to the other one."""
    sched.config.hook.pytest_runtest_logreport(report=report)
    pytest.exit(f"the process that ran {crashitem} died", returncode=pytest.ExitCode.TESTS_FAILED)


def pytest_internalerror(excrepr: object) -> None:
    """Keep what went wrong in pytest itself, or in one of its processes: it stands far above the summary."""
    INTERNAL_ERRORS.append(str(excrepr))


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """Say it again as the last words, where whoever sees only the end of a log looks."""
    if INTERNAL_ERRORS and not hasattr(config, "workerinput"):
        print("\npytest's own run failed:", *(error[-1500:] for error in INTERNAL_ERRORS), sep="\n", file=sys.stderr)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from vdr_spark.spark.session import spark_session

    session = spark_session(SparkSettings(driver_memory="3g", conf=QUICK))
    with pytest.MonkeyPatch.context() as patch:
        # Few pings would have one task. What is tested must hold for pings that meet from several.
        patch.setattr("vdr_spark.collect.stage.tasks_for", lambda _amount, _per_task, usual: usual)
        yield session
    session.stop()


@pytest.fixture(autouse=True)
def _same_session(request: pytest.FixtureRequest) -> Iterator[None]:
    """Leave the session active that all tests share, also after a test that opened another one."""
    shared = request.getfixturevalue("spark") if "spark" in request.fixturenames else None
    yield
    if shared is not None:
        from pyspark.sql import SparkSession

        SparkSession(shared.sparkContext, shared._jsparkSession)  # which makes it active in Java
        SparkSession._activeSession = shared


@pytest.fixture(scope="session")
def delta_jars(spark: SparkSession) -> str:
    """Delta's jars as the setting that saves a process from asking Maven for them again."""
    conf = spark.sparkContext.getConf()
    fetched, known = str(conf.get("spark.jars", "")), str(conf.get("spark.driver.extraClassPath", ""))
    jars = [jar.removeprefix("file://") for jar in fetched.split(",")] if fetched else known.split(os.pathsep)
    return f"spark.delta_jars={json.dumps(jars)}"


def small_overrides(folder: Path) -> list[str]:
    return [*SMALL, f"output={folder}/out", f"input.path={folder}/pings"]


@pytest.fixture
def small_config(tmp_path: Path) -> Callable[..., ReleaseConfig]:
    """The demo's configuration made small, in a folder of its own, with a test's own overrides."""
    return lambda *overrides: load_config(ROOT / "conf/demo.yaml", [*small_overrides(tmp_path), *overrides])


@pytest.fixture(scope="session")
def demo_folder(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:  # noqa: ARG001
    """A folder in which the demo was run, made small: `conf/demo.yaml` and `out/demo`, as in the README."""
    from vdr_spark.cli.demo import run

    folder = tmp_path_factory.mktemp("demo")
    small = yaml.safe_load((ROOT / "conf/demo.yaml").read_text())
    small["grid"]["cells_per_side"] = 24
    small["period"]["end"] = "2020-01-09"
    small["synth"]["pings"] = small["privacy"]["total_pings"] = 60_000
    small["denoise"]["vqvae"] = {"epochs": 2}
    small["denoise"]["blindspot"] = {"steps": 20, "batch_size": 4, "crop_size": 16}
    (folder / "conf").mkdir()
    (folder / "conf/demo.yaml").write_text(yaml.safe_dump(small))
    before = os.getcwd()
    os.chdir(folder)
    try:
        run(load_config("conf/demo.yaml"))
    finally:
        os.chdir(before)
    return folder


@pytest.fixture
def in_demo_folder(demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(demo_folder)
    return demo_folder


def write_pings(path: str, grid: Grid, cells: Sequence[tuple[object, int]]) -> None:
    """Parquet pings at `path`: one in the middle of a flat cell for each (user, cell), a second apart."""
    users = [str(user) for user, _ in cells]
    t, y, x = np.unravel_index(np.array([cell for _, cell in cells], dtype=np.int64), grid.shape)
    seconds = t * grid.slice_seconds + np.arange(len(cells)) % grid.slice_seconds
    pings = pd.DataFrame(
        {
            "user_id": pd.Series(users, dtype="string"),
            "lat": grid.latitudes()[y],
            "lon": grid.longitudes()[x],
            "ts": pd.Timestamp(grid.start) + pd.to_timedelta(seconds, unit="s"),
        }
    )
    Path(path).mkdir(parents=True, exist_ok=True)
    pings.to_parquet(f"{path}/part.parquet", coerce_timestamps="us")


def mark_as_generated(path: str) -> None:
    """As `vdr synth` does: only over such pings may noise be seeded."""
    Path(path, "_vdr_synth.json").write_text("{}")
