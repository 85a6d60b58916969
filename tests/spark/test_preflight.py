"""Workers are asked what they have before anything is booked."""

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tests.conftest import ROOT, write_pings
from tests.plans import collect, grid_of
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import EnvironmentProblem
from vdr_spark.spark import preflight
from vdr_spark.spark.preflight import MODULES, Worker, ask_workers, build_question

Small = Callable[..., ReleaseConfig]
# A worker that has pyspark, and neither pyarrow nor anything of ours.
BARE = """
import pickle, sys
sys.modules["vdr_spark"] = sys.modules["pyarrow"] = None
look = pickle.load(sys.stdin.buffer)
print(look(None))
"""


def here() -> Worker:
    return preflight._parse(build_question(0.0)(None))


def test_workers_of_this_session_have_what_this_process_has(spark: SparkSession) -> None:
    assert ask_workers(spark) == [here()]
    assert here().lacks == []


def test_the_question_travels_to_workers_that_have_nothing_of_ours() -> None:
    asked = subprocess.run(
        [sys.executable, "-c", BARE], input=cloudpickle.dumps(build_question(0.0)), capture_output=True, check=True
    )
    worker = preflight._parse(asked.stdout.decode())
    assert worker.lacks == ["pyarrow", "vdr_spark"]
    assert worker.code is None


def test_all_code_of_tasks_is_compared() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    listed = next(of["source_modules"] for of in contracts if "workers" in of["name"])
    others = {"vdr_spark.synth.blocks", "vdr_spark.release.cells", "vdr_spark.collect.slice_digests"}
    others |= {"vdr_spark.privacy.noise_check", "vdr_spark.privacy.noise_tally", "vdr_spark.release.pyramid_rows"}
    others |= {"vdr_spark.privacy.gaussian_check"}
    assert set(MODULES) == set(listed) - others  # those touch no ping


@pytest.mark.parametrize(
    ("worker", "told"),
    [
        (
            Worker("node-7", "3.11.2", {"pyarrow": "14.0.2"}, None),
            r"on node-7 \(Python 3.11.2\) cannot import numpy, vdr",
        ),
        (Worker("node-7", "3.11.2", here().versions, "0" * 64), "have another vdr_spark than this process"),
    ],
)
def test_nothing_is_booked_where_workers_are_not_ready(
    spark: SparkSession, small_config: Small, monkeypatch: pytest.MonkeyPatch, worker: Worker, told: str
) -> None:
    config = small_config()
    write_pings(config.input.path, grid_of(config), [("anna", 3)])
    monkeypatch.setattr(preflight, "_is_this_python", lambda _: False)
    monkeypatch.setattr(preflight, "ask_workers", lambda _: [here(), worker])
    with pytest.raises(EnvironmentProblem, match=told):
        collect(spark, config)
    assert not Path(config.output, "tables").exists()


def _broken(_: float) -> preflight.Question:
    def fail(_: object) -> str:
        raise RuntimeError("as where Python is another one: PYTHON_VERSION_MISMATCH")

    return fail


def test_workers_that_do_not_run_at_all_are_one_sentence(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    monkeypatch.setattr(preflight, "build_question", _broken)
    with pytest.raises(EnvironmentProblem, match=r"do not run \(PYTHON_VERSION_MISMATCH\).*Nothing was reserved"):
        ask_workers(spark)


def test_a_lost_host_is_named() -> None:
    words = (
        "Job aborted: Lost task 0.3 in stage 0.0 (TID 6) (node-7 executor 1): java.io.IOException: Cannot run program"
    )
    assert preflight._name_host(words) == " on node-7"
    assert preflight._name_host("An exception was thrown from the Python worker") == ""


def test_who_sent_a_wheel_is_told_to_call_it_zip(monkeypatch: pytest.MonkeyPatch, spark: SparkSession) -> None:
    lacking = Worker("node-7", "3.11.2", {"numpy": "1", "pyarrow": "14"}, None)
    sent = "file:/a/other.zip,file:/a/vdr_spark-0.1.0-py3-none-any.whl"
    monkeypatch.setattr(preflight, "read_setting", lambda *_: sent)
    assert "send vdr_spark-0.1.0-py3-none-any.whl as a copy that is called .zip" in preflight._hint_at_wheels(
        spark, lacking
    )
    assert preflight._hint_at_wheels(spark, here()) == ""
    monkeypatch.setattr(preflight, "read_setting", lambda *_: None)
    assert preflight._hint_at_wheels(spark, lacking) == ""
