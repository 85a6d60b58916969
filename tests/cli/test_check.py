"""`vdr check`: figures and hints on standard output, exit code 6 where something looks wrong."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.test_app import call
from tests.conftest import ROOT, small_overrides, write_pings
from tests.plans import grid_of
from vdr_spark import ReleaseConfig
from vdr_spark.cli.check import _require_a_reader
from vdr_spark.errors import EnvironmentProblem

Small = Callable[..., ReleaseConfig]


@pytest.fixture
def arguments(small_config: Small, tmp_path: Path) -> list[str]:
    config = small_config()
    write_pings(config.input.path or "", grid_of(config), [(number % 60, number) for number in range(2000)])
    overrides = [*small_overrides(tmp_path), "privacy.total_pings=2000"]
    return ["check", str(ROOT / "conf/demo.yaml"), *(part for text in overrides for part in ("--set", text))]


@pytest.mark.usefixtures("spark")
def test_it_is_printed_and_not_private(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("NOT PRIVATE.")
    assert "k = 20 keeps        n = 1,200 of 2,000 pings (60.0 %)" in printed.out
    assert "Nothing looks wrong." in printed.out
    assert "2,000" not in printed.err
    assert "2000" not in printed.err.replace(":", "")


@pytest.mark.usefixtures("spark")
def test_what_looks_wrong_ends_with_6(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments, "--set", "input.columns={lat: lon, lon: lat}", "--json") == 6
    told = json.loads(capsys.readouterr().out)
    assert (told["private"], told["fine"]) == (False, False)
    assert [hint["name"] for hint in told["hints"]] == ["swapped"]


@pytest.mark.usefixtures("spark")
def test_a_mistake_is_a_sentence(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments, "--set", "input.path=nowhere") == 2
    printed = capsys.readouterr().err
    assert "there is nothing at" in printed
    assert "Traceback" not in printed


def test_what_it_prints_is_not_left_to_a_clusters_logs(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    _require_a_reader(spark)
    submitted = spark.sparkContext.getConf().set("spark.submit.deployMode", "cluster")
    monkeypatch.setattr(type(spark.sparkContext), "getConf", lambda _: submitted)
    with pytest.raises(EnvironmentProblem, match="deployMode must be client"):
        _require_a_reader(spark)
