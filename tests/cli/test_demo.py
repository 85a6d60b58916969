"""The demo ends with a summary, and its denoised release is better than its noise."""

import json
from pathlib import Path

import pytest

from tests.cli.test_app import call
from vdr_spark.cli.demo import _name_command, run
from vdr_spark.config import load_config


def test_summary(demo_folder: Path) -> None:
    summary = json.loads((demo_folder / "out/demo/summary.json").read_text())
    assert summary["epsilon_spent"] == 6
    assert summary["error_denoised"] < 0.8 * summary["error_noisy"]
    # In so small a city n, and with it the factor N / n, is known within a tenth only.
    assert summary["error_refined"] < 0.8 * summary["error_noisy_scaled"]
    assert summary["seconds"] > 0
    for answer in summary["answers"].values():
        assert "pings" in answer


def test_the_evaluation_asks_as_the_paper_does(demo_folder: Path) -> None:
    paper = json.loads((demo_folder / "out/demo/evaluation/errors.json").read_text())["paper"]
    assert set(paper["hotspots"]) == {"10", "20", "40"}
    assert set(paper["hotspots"]["20"]) == {"noisy_scaled", "refined", "by_probability"}
    assert paper["ranges"]["refined"]["500-2000 m"] < paper["ranges"]["noisy_scaled"]["500-2000 m"]
    assert set(paper["forecasts"]) == {"noisy_scaled", "refined"}


@pytest.mark.parametrize(
    "name",
    ["pictures/day.png", "pictures/forecast.png", "pictures/loss.png", "evaluation/slice.png", "evaluation/codes.png"],
)
def test_pictures(demo_folder: Path, name: str) -> None:
    assert (demo_folder / "out/demo" / name).read_bytes().startswith(b"\x89PNG")


def test_a_second_run_draws_and_spends_nothing(
    in_demo_folder: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO", "vdr_spark")
    cells = sorted((in_demo_folder / "out/demo/tables/cells").rglob("*.parquet"))
    run(load_config("conf/demo.yaml"))
    skipped = [record.stage for record in caplog.records if "complete already" in record.getMessage()]
    # Five of the release, and two of the second opinion, which runs without a word to the person.
    assert skipped == ["synth", "collect", "denoise", "refine", "publish", "denoise", "refine"]
    assert sorted((in_demo_folder / "out/demo/tables/cells").rglob("*.parquet")) == cells
    assert json.loads((in_demo_folder / "out/demo/summary.json").read_text())["epsilon_spent"] == 6
    (page,) = (in_demo_folder / "out/demo/reports").glob("*.html")
    printed = capsys.readouterr().out
    assert f"open {page} in a browser" in printed
    assert "vdr explore conf/demo.yaml" in printed


def test_the_explorer_is_named_as_it_can_be_called(in_demo_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = in_demo_folder / ".venv/bin/vdr"
    command.parent.mkdir(parents=True, exist_ok=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    monkeypatch.setattr("sys.argv", [str(command), "demo"])
    monkeypatch.setenv("PATH", "/nowhere")
    assert _name_command() == ".venv/bin/vdr"
    monkeypatch.setenv("PATH", str(command.parent))
    assert _name_command() == "vdr"


def test_it_ends_with_a_report_without_the_truth(demo_folder: Path) -> None:
    (page,) = (demo_folder / "out/demo/reports").glob("*.html")
    content = page.read_text()
    assert "spent epsilon 6" in content  # of the ledger
    assert "NOT PRIVATE" not in content  # whatever the demo looked at


def test_beside_the_truth_it_lies_apart(in_demo_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("report", "conf/demo.yaml", "--reads-the-truth") == 0
    assert "not differentially private" in capsys.readouterr().err
    (page,) = (in_demo_folder / "out/demo/evaluation").glob("report-*.html")
    assert "true (not private)" in page.read_text()
    assert all("NOT PRIVATE" not in of.read_text() for of in (in_demo_folder / "out/demo/reports").glob("*.html"))
