"""`vdr budget` answers from a local ledger without starting Spark."""

import json
from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.cli.test_query import heavy_modules
from tests.conftest import ROOT, small_overrides
from tests.privacy.written_ledger import chain, write_ledger
from tests.test_packages import SPARK, run_without
from vdr_spark.price import Price
from vdr_spark.privacy.entries import State


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """The configuration of a dataset that has spent 6 of 9."""
    booked = chain("demo-city", (State.GRANTED, 9, ""), (State.RESERVED, 6, "demo-1"), (State.SPENT, 6, "demo-1"))
    write_ledger(f"{tmp_path}/out/tables/ledger", booked)
    return [str(ROOT / "conf/demo.yaml"), *(part for text in small_overrides(tmp_path) for part in ("--set", text))]


@pytest.mark.parametrize("command", ["show", "history"])
def test_looking_loads_nothing_heavy(arguments: list[str], command: str) -> None:
    assert heavy_modules("budget", command, *arguments) == "heavy:"


def test_what_is_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("budget", "show", *arguments) == 0
    assert "granted epsilon 9, reserved or spent 6, remaining 3" in capsys.readouterr().out
    assert call("budget", "history", *arguments, "--json") == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["state"] for entry in entries] == ["granted", "reserved", "spent"]


def test_a_ledger_that_was_cut_is_a_sentence(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "out/tables/ledger.head.json").write_text('{"sequence": 9, "entry_hash": "of another"}')
    assert call("budget", "show", *arguments) == 7
    assert "cut off, replaced or deleted" in capsys.readouterr().err


@pytest.fixture
def in_rho(tmp_path: Path) -> list[str]:
    """The configuration of a dataset whose budget is rho 1, of which rho 3/8 is spent: 1/4, and pure epsilon 1/2."""
    draws = ((State.RESERVED, Price.rho("1/4"), "demo-1"), (State.RESERVED, Price.epsilon("1/2"), "demo-2"))
    booked = chain("demo-city", (State.GRANTED, Price.rho(1), ""), *draws)
    write_ledger(f"{tmp_path}/out/tables/ledger", booked)
    overrides = [*small_overrides(tmp_path), "privacy.epsilon=1", "privacy.budget=null"]
    return [str(ROOT / "conf/demo.yaml"), *(part for text in overrides for part in ("--set", text))]


def test_a_budget_in_rho_is_shown_in_both_languages(in_rho: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("budget", "show", *in_rho) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "granted rho 1, which is epsilon 9.5" in told
    assert "reserved or spent rho 3/8, which is epsilon 5.5" in told
    assert "remaining rho 5/8" in told
    assert call("budget", "show", *in_rho, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["currency"], found["delta"]) == ("rho", "1/1000000000")
    assert (found["granted"], found["committed"], found["remaining"]) == ("1", "3/8", "5/8")
    assert set(found["epsilon_at_delta"]) == {"granted", "committed"}
    assert call("budget", "history", *in_rho) == 0
    told = capsys.readouterr().out
    for words in ("rho 1", "rho 1/4", "epsilon 1/2"):
        assert words in told


def test_looking_at_rho_needs_no_spark(in_rho: list[str], tmp_path: Path) -> None:
    code = f"from vdr_spark.cli import main; main(['budget', 'show', *{in_rho!r}])"
    assert run_without(SPARK, [code], tmp_path)[0] == ["SystemExit: 0"]


def test_a_delta_is_for_rho(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call("budget", "grant", arguments[0], "1", "--delta", "1e-9", *arguments[1:]) == 2
    assert "--delta goes with --currency rho" in " ".join(capsys.readouterr().err.split())
