"""`vdr budget` answers from a local ledger without starting Spark."""

import json
from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.cli.test_query import as_pyarrow_alone, heavy_modules
from tests.conftest import ROOT, small_overrides
from tests.privacy.written_ledger import chain, write_ledger
from vdr_spark.privacy.accounting import State


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    """The configuration of a dataset that has spent 6 of 9."""
    booked = chain("demo-city", (State.GRANTED, 9, ""), (State.RESERVED, 6, "demo-1"), (State.SPENT, 6, "demo-1"))
    write_ledger(f"{tmp_path}/out/tables/ledger", booked)
    return [str(ROOT / "conf/demo.yaml"), *(part for text in small_overrides(tmp_path) for part in ("--set", text))]


@pytest.mark.parametrize("command", ["show", "history"])
def test_looking_loads_nothing_heavy(arguments: list[str], command: str) -> None:
    assert heavy_modules("budget", command, *arguments) == as_pyarrow_alone()


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
