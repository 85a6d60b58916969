"""Whole processes, as a person or a scheduler starts them, under spark-submit too."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.conftest import ROOT, small_overrides
from vdr_spark.config import load_config
from vdr_spark.release.read import read_release

BIN = Path(sys.executable).parent
CONF = str(ROOT / "conf/demo.yaml")


def with_overrides(folder: Path) -> list[str]:
    return [CONF, *(part for text in small_overrides(folder) for part in ("--set", text))]


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)


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
