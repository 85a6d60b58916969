"""A dry run tells what a run would do and stop at, with its exit code, and changes nothing on disk."""

import hashlib
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.test_app import call
from tests.conftest import ROOT, mark_as_generated, small_overrides, write_pings
from tests.disks import tiny_disk
from tests.plans import grid_of, release_id_of, run_stage
from vdr_spark.config import ReleaseConfig
from vdr_spark.stage_log import RELEASE_STAGES

Small = Callable[..., ReleaseConfig]
Printed = pytest.CaptureFixture[str]


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything below a folder: when it was changed, and what is in it."""
    found = {}
    for path in [folder, *folder.rglob("*")]:
        content = path.read_bytes() if path.is_file() else b""
        found[str(path)] = path.stat().st_mtime_ns, hashlib.sha256(content).hexdigest()
    return found


def dry(folder: Path, command: str, *overrides: str) -> int:
    texts = [*small_overrides(folder), *overrides]
    before = contents(folder)
    code = call(command, str(ROOT / "conf/demo.yaml"), *(part for t in texts for part in ("--set", t)), "--dry-run")
    assert contents(folder) == before
    return code


@pytest.fixture
def pings(small_config: Small) -> None:
    config = small_config()
    write_pings(config.input.path or "", grid_of(config), [(number % 60, number) for number in range(2000)])
    mark_as_generated(config.input.path or "")


@pytest.mark.usefixtures("pings")
def test_of_a_release(tmp_path: Path, capsys: Printed, small_config: Small) -> None:
    assert dry(tmp_path, "release", "privacy.budget=9") == 0
    told = capsys.readouterr().out
    for words in (
        "Dry run of collect, denoise, refine, publish: no row is read, nothing is reserved or written.",
        "1. collect would run: read path",
        f"would write {tmp_path}/out/tables/noisy_slices and {tmp_path}/out/tables/ledger; spends epsilon 6",
        "2. denoise would run: temporal",
        f"would write {tmp_path}/out/work/{release_id_of(small_config())}",
        "4. publish would run",
        "Budget: dataset demo-city would reserve epsilon 6; 3 is left then (its account would be opened with 9)",
        "Spark: ",
    ):
        assert words in told
    assert not (tmp_path / "out").exists()


def test_input_that_is_not_there(tmp_path: Path, capsys: Printed) -> None:
    assert dry(tmp_path, "release") == 2
    printed = capsys.readouterr()
    assert f"there is nothing at {tmp_path}/pings yet" in printed.err
    assert "1. collect would run" in printed.out


@pytest.mark.usefixtures("pings")
def test_java_that_is_not_there(tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vdr_spark.spark.session.starts_here", lambda: True)  # other tests may have a session
    monkeypatch.setenv("JAVA_HOME", f"{tmp_path}/nowhere")
    assert dry(tmp_path, "collect") == 4
    assert "which has no bin/java" in capsys.readouterr().err


@pytest.mark.usefixtures("pings")
def test_a_disk_that_cannot_be_written(tmp_path: Path, capsys: Printed) -> None:
    with tiny_disk(tmp_path / "disk", 1) as disk:
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        assert dry(tmp_path, "collect", f"output={disk}/out") == 4
    assert f"output: {tmp_path}/disk/out cannot be written to" in capsys.readouterr().err


@pytest.mark.usefixtures("pings")
def test_a_disk_that_is_too_small(tmp_path: Path, capsys: Printed) -> None:
    with tiny_disk(tmp_path / "disk", 1) as disk:
        assert dry(tmp_path, "collect", f"output={disk}/out", "grid.cells_per_side=512") == 4
    assert "of it for sure: make room" in capsys.readouterr().err


def test_a_stage_before_its_time(tmp_path: Path, capsys: Printed) -> None:
    assert dry(tmp_path, "refine") == 2
    assert "refine needs what `vdr collect` leaves" in capsys.readouterr().err


def test_a_store_that_keeps_nobody_out(tmp_path: Path, capsys: Printed) -> None:
    assert dry(tmp_path, "publish", "ledger=memory://somewhere/ledger", "tables=null") == 2
    assert "single_writer" in capsys.readouterr().err


def test_synth(tmp_path: Path, capsys: Printed) -> None:
    assert dry(tmp_path, "synth") == 0
    assert f"would write path {tmp_path}/pings" in capsys.readouterr().out
    os.mkdir(tmp_path / "pings")
    (tmp_path / "pings/part-0.parquet").write_text("somebody's")
    assert dry(tmp_path, "synth") == 2


@pytest.mark.usefixtures("pings")
def test_as_stages_are_completed(spark: SparkSession, tmp_path: Path, capsys: Printed, small_config: Small) -> None:
    config = small_config()
    for number, stage in enumerate(RELEASE_STAGES):
        run_stage(stage, spark, config)
        assert dry(tmp_path, "release") == 0
        told = capsys.readouterr().out
        assert told.count("complete already") == number + 1
        assert told.count("would run") == 3 - number
        assert "Budget" not in told  # the draw was made
    assert dry(tmp_path, "collect", "privacy.k=19") == 3  # another draw, and nothing is left for it
    assert "0 may be reserved now, short by 6" in capsys.readouterr().err
