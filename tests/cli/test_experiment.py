"""`vdr experiment` as a person calls it."""

from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.conftest import ROOT
from vdr_spark.errors import ExitCode

CONF = ("--conf", str(ROOT / "conf/experiments"))


def test_the_list_names_every_experiment(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("experiment", "--list", *CONF) == 0
    printed = capsys.readouterr().out
    assert all(path.stem in printed for path in (ROOT / "conf/experiments").glob("*.yaml"))


def test_a_run_prints_its_paragraph_and_its_files_and_the_next_is_quick(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("experiment", "refinement_factor", "--quick", "--draws", "1", "--output", str(tmp_path), *CONF)
    assert call(*command) == 0
    first = capsys.readouterr().out
    assert "# C of the paper's refinement" in first
    assert str(tmp_path / "refinement_factor-quick.png") in first
    points = {path: path.stat().st_mtime_ns for path in tmp_path.glob("points/*")}
    assert call(*command) == 0
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("points/*")} == points
    assert capsys.readouterr().out == first


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "which experiment?"),
        (("nothing",), "must be one of"),
        (("sampling_noise", "--preset", "cabs_sf", "--input", __file__), "about bounding users"),
        (("range_size", "--preset", "cabs_sf", "--input", "none.parquet", "--quick"), "no file or folder none.parquet"),
    ],
)
def test_mistakes_are_a_sentence(
    arguments: tuple[str, ...], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("experiment", *arguments, "--output", str(tmp_path), *CONF) == ExitCode.MISTAKE
    printed = capsys.readouterr().err
    assert words in printed
    assert "Traceback" not in printed


@pytest.mark.parametrize("option", ["--output", "--record"])
def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_done(
    option: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("in the way")
    folders = {"--output": str(tmp_path / "out")} | {option: str(tmp_path / "file" / "below")}
    arguments = [part for pair in folders.items() for part in pair]
    assert call("experiment", "range_epsilon", "--quick", *arguments, *CONF) == ExitCode.ENVIRONMENT
    printed = capsys.readouterr().err
    assert f"{option}: " in printed
    assert "cannot be written to" in printed
    assert "Traceback" not in printed
    assert not list(tmp_path.glob("out/points/*"))
