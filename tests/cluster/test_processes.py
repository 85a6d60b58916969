"""Whole processes, as a person or a scheduler starts them: quiet, killable, and under spark-submit."""

import os
import signal
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT, small_overrides
from vdr_spark.collect.noisy_slices import live_files
from vdr_spark.config import load_config
from vdr_spark.denoise.slices import read_slices
from vdr_spark.privacy.ledger import Ledger, State
from vdr_spark.release.read import read_release
from vdr_spark.workspace import Workspace

BIN = Path(sys.executable).parent
CONF = str(ROOT / "conf/demo.yaml")


def with_overrides(folder: Path) -> list[str]:
    return [CONF, *(part for text in small_overrides(folder) for part in ("--set", text))]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


def test_kill_nine_in_the_middle_of_collecting_then_the_same_command(spark: SparkSession, tmp_path: Path) -> None:
    """The reservation stands, the draw is made once, and what the killed attempt wrote is gone."""
    arguments = with_overrides(tmp_path)
    assert run(str(BIN / "vdr"), "synth", *arguments).returncode == 0
    config = load_config(CONF, small_overrides(tmp_path))
    ledger = Ledger(spark, Workspace.of(config).ledger)
    process = subprocess.Popen([BIN / "vdr", "release", *arguments], start_new_session=True, stdout=subprocess.DEVNULL)
    # The book's third commit (made, granted, reserved): looked for as a file, because asking Spark takes too long.
    reserved = Path(Workspace.of(config).ledger) / "_delta_log/00000000000000000002.json"
    deadline = time.monotonic() + 300
    while not reserved.exists():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    time.sleep(2)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert process.returncode == -signal.SIGKILL
    assert ledger.state_of(config.draw_id) in (State.RESERVED, State.SPENT)
    # Either the kill came before the commit and the draw is made now, or after it and the draw is used.
    committed = live_files(spark, Workspace.of(config))
    before = read_slices(committed, config.domain) if committed else None
    again = run(str(BIN / "vdr"), "release", *arguments)
    assert again.returncode == 0, again.stderr
    after = read_slices(live_files(spark, Workspace.of(config)), config.domain)
    assert before is None or (before == after).all()
    assert ledger.account(config.dataset).committed == config.privacy.epsilon
    folder = Path(Workspace.of(config).table("noisy_slices")) / f"draw_id={config.draw_id}"
    assert len(list(folder.glob("part-*"))) == len(live_files(spark, Workspace.of(config)))
    # A person sees our lines, not Ivy's and log4j's.
    assert "publish: write Delta tables" in again.stdout
    for noise in (":: loading settings", "WARN", "log4j", "FutureWarning", "Stage 0:"):
        assert noise not in again.stdout + again.stderr


def test_spark_submit(spark: SparkSession, tmp_path: Path) -> None:
    submit = [
        str(BIN / "spark-submit"),
        *("--packages", f"io.delta:delta-spark_2.13:{version('delta-spark')}"),
        *("--conf", "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension"),
        *("--conf", "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"),
        *("--conf", "spark.sql.shuffle.partitions=3", "--driver-memory", "2g"),
    ]
    for job in ("synth", "release"):
        done = run(*submit, str(ROOT / f"jobs/{job}.py"), *with_overrides(tmp_path))
        assert done.returncode == 0, done.stderr[-3000:]
    config = load_config(CONF, small_overrides(tmp_path))
    assert read_release(spark, config.output).release_id == config.release_id


def test_spark_submit_without_delta_is_one_sentence(tmp_path: Path) -> None:
    done = run(str(BIN / "spark-submit"), str(ROOT / "jobs/collect.py"), *with_overrides(tmp_path))
    assert done.returncode != 0
    assert "--packages io.delta:delta-spark" in done.stdout  # spark-submit sends all that Python says there
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("job", ["synth", "collect", "denoise", "refine", "publish", "release"])
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
        "vdr_spark/denoise/models/autoencoder.py",
    ):
        assert name in names
