"""Commands: help for all, sentences for mistakes, exit codes for scripts."""

import json
from pathlib import Path

import pytest

from tests.conftest import ROOT, small_overrides
from vdr_spark.cli import main

COMMANDS = [
    "synth",
    "collect",
    "denoise",
    "refine",
    "publish",
    "release",
    "explain",
    "check",
    "advise",
    "draw",
    "export",
    "evaluate",
    "experiment",
    "demo",
]


def call(*arguments: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    return int(end.value.code or 0)


@pytest.mark.parametrize(
    "command", [[name] for name in COMMANDS] + [["query", "range"], ["query", "hotspot"], ["budget", "grant"], []]
)
def test_help(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*command, "--help") == 0
    assert "Usage" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "nowhere.yaml"], "no configuration file nowhere.yaml"),
        (["release", str(ROOT / "conf/demo.yaml"), "--set", "grid.cells_per_side=-3"], "received -3"),
        (["explain", str(ROOT / "conf/demo.yaml"), "--set", "nonsense"], "--set takes"),
        (["query", "range", str(ROOT / "conf/demo.yaml"), "--at", "here"], "--at takes 2 numbers"),
        (["query", "range", str(ROOT / "conf/demo.yaml"), "--from", "soon"], "--from takes a time"),
        (["query", "range", str(ROOT / "conf/demo.yaml"), "--side", "-1"], "--side must be a positive"),
        (["budget", "grant", str(ROOT / "conf/demo.yaml"), "lots"], "positive number"),
        (["demo", str(ROOT / "conf/houston.yaml")], "generated pings only"),
        (["synth", str(ROOT / "conf/houston.yaml")], "nothing to generate"),
    ],
)
@pytest.mark.usefixtures("spark")
def test_a_mistake_is_a_sentence(
    arguments: list[str],
    words: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert "Traceback" not in printed


@pytest.mark.usefixtures("spark")
def test_missing_pings_are_named_and_book_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    overrides = [part for text in small_overrides(tmp_path) for part in ("--set", text)]
    assert call("release", str(ROOT / "conf/demo.yaml"), *overrides) == 2
    assert f"{tmp_path}/pings" in capsys.readouterr().err
    assert call("budget", "show", str(ROOT / "conf/demo.yaml"), *overrides, "--json") == 0
    assert json.loads(capsys.readouterr().out)["committed"] == "0"


@pytest.mark.usefixtures("in_demo_folder")
def test_queries(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("query", "range", "conf/demo.yaml", "--from", "2020-01-07T09:00", "--to", "2020-01-07T12:00") == 0
    assert (
        "2020-01-07 09:00 America/Chicago (UTC-06:00) and 2020-01-07 12:00 America/Chicago (UTC-06:00)"
        in capsys.readouterr().out
    )
    assert call("query", "hotspot", "conf/demo.yaml", "--json") == 0
    assert json.loads(capsys.readouterr().out)["count"] > 0
    assert call("query", "forecast", "conf/demo.yaml", "--horizon", "3", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["mean"]) == 3
    assert call("query", "range", "conf/demo.yaml", "--at", "0,0") == 2
    assert "ERROR south must lie inside" in capsys.readouterr().err


@pytest.mark.usefixtures("in_demo_folder")
def test_budget(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("budget", "show", "conf/demo.yaml") == 0
    assert "granted epsilon 6, reserved or spent 6, remaining 0" in capsys.readouterr().out
    assert call("budget", "history", "conf/demo.yaml", "--json") == 0
    states = [entry["state"] for entry in json.loads(capsys.readouterr().out)]
    assert states == ["granted", "reserved", "spent"]


@pytest.mark.usefixtures("in_demo_folder")
def test_real_pings_are_not_evaluated_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("evaluate", "conf/demo.yaml", "--set", "input.path=elsewhere") == 2
    assert "--reads-the-truth" in capsys.readouterr().err
