"""Fifty races of two processes over one store, without Spark: one draw, one spend, a clear sentence for the loser."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.conftest import ROOT
from tests.stores.servers import BUCKET, NAMES, Server, serving
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage import store_access
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.store_log import open_log

pytestmark = pytest.mark.stores

RACES = 25  # of each server: fresh ledgers, last epsilons and same draws, with delays and without
DELAYS = (0.0, 0.0, 0.5, 4.0)  # seconds at most, before a commit
LOSERS = (
    "BudgetExceeded: the budget of dataset `people` does not allow this release",
    "Busy: another process is collecting draw",
)


@pytest.fixture(params=NAMES)
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with serving(request.param, tmp_path) as running:
        store_access.learn(running.hadoop)
        yield running
    store_access.forget()


def test_one_draw_one_spend_and_a_sentence(server: Server, tmp_path: Path) -> None:
    told: Counter[str] = Counter()
    for number in range(RACES):
        kind = ("fresh ledger", "last epsilon", "same draw")[number % 3]
        settings = _settings(server, kind, DELAYS[number % 4])
        if kind == "last epsilon":
            _run(settings | {"draws": {"before": "first-0123456789"}}, tmp_path)
        results = _run(settings, tmp_path)
        _check(kind, settings, results)
        told[f"{kind}: {', '.join(sorted(text.split(':')[0] for text in results))}"] += 1
    print(server.name, json.dumps(told, indent=1))
    assert sum(told.values()) == RACES


def _settings(server: Server, kind: str, delay: float) -> dict[str, Any]:
    same = kind == "same draw"
    return {
        "root": f"s3a://{BUCKET}/{uuid4().hex}",
        "hadoop": server.hadoop,
        "delay": delay,
        "epsilon": "6",
        "budget": "12" if kind == "last epsilon" else "6",
        "draws": {"anna": "anna-0123456789", "berta": "anna-0123456789" if same else "berta-0123456789"},
    }


def _run(settings: dict[str, Any], folder: Path) -> list[str]:
    """Start a process per draw, let them go at the same instant, and return what each said."""
    told, go = folder / f"{uuid4().hex}.json", folder / f"{uuid4().hex}.go"
    told.write_text(json.dumps(settings))
    ready = {name: folder / f"{uuid4().hex}.ready" for name in settings["draws"]}
    command = [sys.executable, "-m", "tests.stores.race", str(told)]
    processes = [
        subprocess.Popen([*command, name, str(at), str(go)], stdout=subprocess.PIPE, text=True, cwd=ROOT)
        for name, at in ready.items()
    ]
    deadline = time.monotonic() + 120
    while not all(at.exists() for at in ready.values()):
        assert time.monotonic() < deadline
        assert all(process.poll() is None for process in processes)
        time.sleep(0.01)
    go.touch()
    said = [process.communicate(timeout=300)[0] for process in processes]
    assert all(process.returncode == 0 for process in processes), said
    return [text.split("RESULT ", 1)[1].strip() for text in said]


def _check(kind: str, settings: dict[str, Any], results: list[str]) -> None:
    root = settings["root"]
    entries = LedgerReader(LedgerPlaces(f"{root}/ledger", f"{root}/ledger.head.json"), _no_spark).entries()
    states = Counter(entry.state for entry in entries)
    draws = 2 if kind == "last epsilon" else 1
    assert (states[State.GRANTED], states[State.RESERVED], states[State.SPENT]) == (1, draws, draws), (kind, results)
    booked = sum((entry.epsilon for entry in entries if entry.state is State.RESERVED), Fraction(0))
    assert booked <= Fraction(settings["budget"])
    log = open_log(f"{root}/tables/noisy_slices")
    assert log is not None
    log.version()
    assert len(log.live_files()) == draws
    winners = [text for text in results if text in ("drawn", "there already")]
    losers = [text for text in results if text not in winners]
    assert "drawn" in winners
    assert len(losers) == 1 or "there already" in winners
    assert all(text.startswith(LOSERS) for text in losers), losers


def _no_spark() -> Any:
    raise AssertionError("Spark was asked")
