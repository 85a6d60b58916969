"""`vdr releases`, and how other commands treat what was withdrawn; all of it without Spark."""

import json
from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments, heavy_modules  # noqa: F401  a fixture
from vdr_spark.cli import releases as module
from vdr_spark.storage.delta_files import read_rows
from vdr_spark.storage.schemas import RELEASES, WITHDRAWALS


@pytest.fixture
def release_id(arguments: list[str], tmp_path: Path) -> str:  # noqa: ARG001, F811
    (row,) = read_rows(f"{tmp_path}/out/tables/releases", RELEASES)
    return str(row["release_id"])


def test_nothing_heavy_is_loaded(arguments: list[str], release_id: str) -> None:  # noqa: F811
    assert heavy_modules("releases", "list", *arguments) == "heavy:"
    heavy = heavy_modules("releases", "withdraw", *arguments, release_id, "--reason", "x", "--yes").split()
    assert not {"pyspark", "delta", "torch"} & set(heavy)


def test_list_and_show(
    arguments: list[str],  # noqa: F811
    release_id: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("releases", "list", *arguments) == 0
    head, line = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["release", "dataset", "period"]
    assert "region" not in head
    assert line.split()[0] == release_id  # whole, however narrow the terminal
    assert "2020-01-07 to 2020-01-08" in line
    assert call("releases", "list", f"{tmp_path}/out", "--json") == 0
    assert [found["withdrawn"] for found in json.loads(capsys.readouterr().out)] == [None]
    assert call("releases", "show", *arguments) == 0
    assert "by at most a factor of e^6" in capsys.readouterr().out
    assert call("releases", "show", f"{tmp_path}/out", release_id, "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["release_id"], shown["statement"]["exact"]["timezone"]) == (release_id, "America/Chicago")


def test_what_was_withdrawn_is_refused_by_every_command(
    arguments: list[str],  # noqa: F811
    release_id: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert call("releases", "withdraw", *arguments, release_id, "--reason", "a wrong box", "--yes") == 0
    told = capsys.readouterr()
    assert "epsilon stays spent" in told.err
    assert "downloaded, exported or copied stays out there" in told.err
    assert f"Release {release_id} is withdrawn on 20" in told.out
    refused = [
        ["query", "range", *arguments],
        ["query", "hotspot", *arguments],
        ["query", "forecast", *arguments],
        ["draw", *arguments],
        ["export", *arguments, "--format", "csv", "--to", f"{tmp_path}/x.csv"],
    ]
    for command in refused:
        assert call(*command) == 2, command
        assert "UTC: a wrong box. Do not use it any more" in capsys.readouterr().err
    assert not (tmp_path / "x.csv").exists()
    assert call("query", "range", *arguments, "--withdrawn-too", "--json") == 0
    looked = capsys.readouterr()
    assert json.loads(looked.out)["withdrawn"]["reason"] == "a wrong box"
    assert "not to be used any more" in looked.err
    assert call(*refused[-1], "--withdrawn-too") == 0
    assert "a wrong box" in json.loads((tmp_path / "x.statement.json").read_text())["withdrawn"]
    capsys.readouterr()
    assert call("releases", "show", *arguments) == 0
    assert "WITHDRAWN on" in capsys.readouterr().out
    assert call("releases", "withdraw", *arguments, release_id, "--reason", "again") == 0  # nothing to confirm
    assert "a wrong box. Nothing was changed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("there", "answer", "code", "words"),
    [
        (False, None, 2, "there is no terminal to ask at; say --yes"),
        (True, False, 2, "not withdrawn, as you said"),
        (True, True, 0, "stays out there"),
    ],
)
def test_it_is_confirmed(
    arguments: list[str],  # noqa: F811
    release_id: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    there: bool,
    answer: bool | None,
    code: int,
    words: str,
) -> None:
    monkeypatch.setattr(module, "somebody_is_there", lambda: there)
    monkeypatch.setattr(module, "ask_to_go_on", lambda: answer)
    assert call("releases", "withdraw", *arguments, release_id, "--reason", "x") == code
    assert words in capsys.readouterr().err
    assert len(read_rows(f"{tmp_path}/out/tables/withdrawals", WITHDRAWALS)) == (code == 0)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (["list", "nowhere"], "nothing is published in"),
        (["list", "nowhere.yaml"], "no configuration file nowhere.yaml"),
        (["list", "nowhere", "--set", "a=b"], "--set changes settings of a configuration"),
        (["withdraw", "nowhere", "a-1", "--reason", " ", "--yes"], "reason must say in a few words"),
        (["withdraw", "nowhere", "a-1", "--reason", "x", "--yes"], "nothing is published in"),
    ],
)
def test_mistakes_are_sentences(wrong: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("releases", *wrong) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert "Traceback" not in printed
