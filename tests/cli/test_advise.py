"""`vdr advise`: a table and a choice without Spark or pings, JSON, and sentences for what cannot be advised on."""

import json

import pytest

from tests.cli.test_app import call
from tests.conftest import ROOT

DEMO, HOUSTON = str(ROOT / "conf/demo.yaml"), str(ROOT / "conf/houston.yaml")
LAW = ("--exponent", "2.3", "--most", "3e4")


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    def started(*_: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr("vdr_spark.cli.advise.open_spark", started)
    monkeypatch.chdir(tmp_path_factory.mktemp("here"))


def test_generated_pings_are_advised_on_by_their_own_law(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("advise", DEMO) == 0
    printed = capsys.readouterr().out
    assert "exponent 2.7, at most 90,000, shift 30" in printed
    assert "<- advised" in printed
    assert "by the source `declared`" in printed


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("advise", HOUSTON, *LAW, "--users", "1.5e6", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["source"], found["paper"], found["bound"]) == ("declared", 55, "k")
    assert found["advised"] in [row["bound"] for row in found["sources"][0]["table"]]


def test_a_histogram_that_is_not_drawn_is_offered_with_its_price(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("advise", HOUSTON, "--set", "privacy.size_histogram={share: 1/50}") == 0
    assert "--pay draws it, for epsilon 3/25." in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--exponent", "2"], "takes --exponent and --most"),
        (["--users", "5"], "takes --exponent and --most"),
        ([*LAW], "either --users"),
        (["--exponent", "0.5", "--most", "100", "--shift", "1"], "--exponent must be above 1"),
        ([*LAW, "--users", "1.5"], "--users must be a whole number"),
        ([*LAW, "--users", "3"], "fit no law"),
        (["--total", "-4"], "--total must be a whole number"),
        (["--apart", "0.5"], "must be 1 to 1000, not 0.5"),
        (["--apart", "nan"], "must be 1 to 1000, not nan"),
        (["--earlier-release", "x"], "goes with --earlier"),
        (["--earlier", "nowhere"], "nowhere"),
    ],
)
def test_a_mistake_is_a_sentence(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert call("advise", HOUSTON, *arguments) == 2
    printed = " ".join(capsys.readouterr().err.split())
    assert words in printed
    assert "Traceback" not in printed
