"""Whole processes, as a person or a scheduler starts them, under spark-submit too."""

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import QUICK, ROOT, small_overrides
from tests.plans import ledger_of, release_id_of, request_of
from vdr_spark.config import load_config
from vdr_spark.errors import BudgetExceeded
from vdr_spark.release.read import read_release
from vdr_spark.spark_versions import delta_package

BIN = Path(sys.executable).parent
CONF = str(ROOT / "conf/demo.yaml")


def with_overrides(folder: Path) -> list[str]:
    return [CONF, *(part for text in small_overrides(folder) for part in ("--set", text))]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


# Two of the files in jobs/ by one spark-submit: starting Spark twice would show nothing more.
SYNTH_AND_RELEASE = f"""
import runpy

for job in ("synth", "release"):
    try:
        runpy.run_path({str(ROOT / "jobs")!r} + f"/{{job}}.py", run_name="__main__")
    except SystemExit as end:
        if end.code:
            raise
"""


@pytest.mark.usefixtures("spark")  # which says where Python and Spark are
def test_spark_submit(tmp_path: Path) -> None:
    submit = [
        str(BIN / "spark-submit"),
        *("--packages", delta_package()),
        *("--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"),
        *("--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        *("--conf", "spark.sql.shuffle.partitions=3", "--driver-memory", "2g"),
        *("--conf", "spark.databricks.delta.snapshotPartitions=2"),  # of 50, for a log of three lines
    ]
    both = tmp_path / "both.py"
    both.write_text(SYNTH_AND_RELEASE)
    done = run(*submit, str(both), *with_overrides(tmp_path))
    assert done.returncode == 0, done.stderr[-3000:]
    config = load_config(CONF, small_overrides(tmp_path))
    assert read_release(config.output).release_id == release_id_of(config)


@pytest.mark.spark
def test_spark_submit_without_delta_is_one_sentence(tmp_path: Path) -> None:
    done = run(str(BIN / "spark-submit"), str(ROOT / "jobs/collect.py"), *with_overrides(tmp_path))
    assert done.returncode != 0
    assert "--packages io.delta:delta-spark" in done.stdout  # spark-submit sends all that Python says there
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("job", ["synth", "collect", "denoise", "refine", "publish", "release", "check"])
def test_every_job_answers_for_help(job: str) -> None:
    done = run(sys.executable, str(ROOT / f"jobs/{job}.py"), "--help")
    assert done.returncode == 0
    assert "CONF" in done.stdout


def test_the_wheel_builds_and_carries_everything(tmp_path: Path) -> None:
    done = run(str(BIN / "uv"), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), str(ROOT))
    assert done.returncode == 0, done.stderr
    wheel = next(tmp_path.glob("*.whl"))
    names = run(sys.executable, "-m", "zipfile", "-l", str(wheel)).stdout
    for name in (
        "vdr_spark/resources/log4j2.properties",
        "vdr_spark/py.typed",
        "vdr_spark/denoise/networks/autoencoder.py",
    ):
        assert name in names


RIVAL = """
import sys, time
from pathlib import Path
from vdr_spark.config import load_config
from vdr_spark.errors import BudgetExceeded
from vdr_spark.plan import make_plan
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.spark.session import spark_session

conf, go, *overrides = sys.argv[1:]
config = load_config(conf, overrides)
plan = make_plan(config)
ledger = Ledger(spark_session(config.spark), plan.ledger)
ledger.account(config.dataset)
Path(go + "." + config.name).touch()
while not Path(go).exists():
    time.sleep(0.001)
try:
    print("RESULT", ledger.reserve(plan.budget_request))
except BudgetExceeded:
    print("RESULT", "refused")
"""


def test_of_three_processes_at_the_same_instant_one_takes_the_last_epsilon(
    tmp_path: Path, spark: SparkSession, delta_jars: str
) -> None:
    """Three JVMs, this process's own among them, against one Delta table, let go together."""
    go = tmp_path / "go"
    names = ["anna", "berta"]
    settings = [*small_overrides(tmp_path), "privacy.budget=6", "privacy.epsilon=6", "spark.driver_memory=1g"]
    settings += [f"spark.conf={json.dumps(QUICK)}", delta_jars]
    mine = load_config(CONF, [*settings, "name=clara"])
    ledger = ledger_of(spark, mine)
    ledger.account(mine.dataset)
    rivals = [
        subprocess.Popen(
            [sys.executable, "-c", RIVAL, CONF, str(go), *settings, f"name={name}"], stdout=subprocess.PIPE, text=True
        )
        for name in names
    ]
    deadline = time.monotonic() + 300
    while not all(Path(f"{go}.{name}").exists() for name in names):
        assert all(rival.poll() is None for rival in rivals)
        assert time.monotonic() < deadline
        time.sleep(0.05)
    go.touch()
    try:
        results = [str(ledger.reserve(request_of(mine)))]
    except BudgetExceeded:
        results = ["refused"]
    results += [rival.communicate(timeout=300)[0].split("RESULT ")[-1].strip() for rival in rivals]
    assert sorted(results) == ["refused", "refused", "reserved"]
    assert [e.state for e in ledger.entries()].count("reserved") == 1
    assert ledger.account(mine.dataset).remaining == 0
