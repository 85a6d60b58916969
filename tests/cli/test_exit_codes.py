"""Exit codes are for schedulers: each kind of trouble has its own, and the documents have them all."""

import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.cli.test_app import call
from tests.conftest import ROOT, mark_as_generated, small_overrides, write_pings
from tests.disks import fill, tiny_disk
from tests.plans import draw_id_of, grid_of, ledger_of, output_of, request_of
from vdr_spark import errors
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import ExitCode, VdrError
from vdr_spark.storage.locks import exclusive

Small = Callable[..., ReleaseConfig]
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def arguments(small_config: Small, tmp_path: Path) -> list[str]:
    config = small_config()
    write_pings(config.input.path or "", grid_of(config), [(number % 60, number) for number in range(2000)])
    mark_as_generated(config.input.path or "")
    return [str(ROOT / "conf/demo.yaml"), *(part for text in small_overrides(tmp_path) for part in ("--set", text))]


def test_every_error_has_a_code_and_only_the_unexpected_has_1() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, VdrError)]
    assert len(kinds) > 15
    assert {kind.exit_code for kind in kinds} == {
        ExitCode.MISTAKE,
        ExitCode.BUDGET,
        ExitCode.ENVIRONMENT,
        ExitCode.BUSY,
        ExitCode.CONTRADICTION,
    }


def test_the_documents_have_them_all() -> None:
    table = (ROOT / "docs/running.md").read_text().split("## Exit codes")[1].split("\n## ")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [*ExitCode]


def test_a_budget_that_does_not_suffice(
    spark: SparkSession, arguments: list[str], small_config: Small, capsys: Printed
) -> None:
    config = small_config()
    ledger_of(spark, config).reserve(request_of(config))
    assert call("collect", *arguments, "--set", "privacy.k=19") == 3
    assert "short by 6" in capsys.readouterr().err


@pytest.mark.usefixtures("spark")
def test_somebody_else_is_at_it(arguments: list[str], small_config: Small, capsys: Printed) -> None:
    config = small_config()
    with exclusive(output_of(config).lock(draw_id_of(config))):
        assert call("collect", *arguments) == 5
    assert "another process is collecting" in capsys.readouterr().err


def test_a_word_that_is_no_command(capsys: Printed) -> None:
    assert call("colect", "conf.yaml") == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_job_file_ends_with_the_code_of_its_command() -> None:
    """As spark-submit runs it."""
    ended = subprocess.run(
        [sys.executable, str(ROOT / "jobs/collect.py"), "nowhere.yaml"], capture_output=True, text=True, cwd=ROOT
    )
    assert ended.returncode == 2
    assert "no configuration file nowhere.yaml" in ended.stderr


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with tiny_disk(tmp_path / "disk", 8) as folder:
        yield folder


def test_a_disk_that_fills_up_in_the_middle(
    spark: SparkSession, arguments: list[str], disk: Path, small_config: Small, capsys: Printed
) -> None:
    """It is told as that, nothing is lost, and the same command goes on once there is room."""
    here = [*arguments, "--set", f"output={disk}/out"]
    config = small_config(f"output={disk}/out")
    assert call("collect", *here, "--set", "name=another", "--set", "privacy.budget=12") == 0  # the ledger is there
    fill(disk, leave=60_000)
    capsys.readouterr()
    assert call("collect", *here) == 4
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert "a disk is full" in said
    assert said.count("Free now: ") == 1
    assert f"output ({disk}/out)" in said
    (disk / "filler").unlink()
    assert call("release", *here) == 0
    account = ledger_of(spark, config).account(config.dataset)
    assert (account.committed, account.remaining) == (12, 0)
