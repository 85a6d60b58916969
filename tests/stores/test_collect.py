"""`vdr collect` with Spark over S3 servers: races of two processes, kills at the moments that matter, a late riser."""

from __future__ import annotations

import hashlib
import io
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any
from uuid import uuid4

import pyarrow.parquet as pq
import pytest

from tests.stores.processes import CONF, Place, finished, vdr
from vdr_spark.collect.slice_digests import digest_slices
from vdr_spark.config import load_config
from vdr_spark.errors import ExitCode
from vdr_spark.plan import make_plan
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.conditional_put import open_folder
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS
from vdr_spark.storage.store_log import open_log

pytestmark = [pytest.mark.stores, pytest.mark.spark]

LEDGER = "vdr_spark.privacy.ledger:Ledger"
STAGING = "vdr_spark.collect.staging:Staging"
HEAD = "vdr_spark.privacy.ledger_head:LedgerHead"


def check(settings: list[str], draws: int = 1) -> list[Entry]:
    """See that each draw was reserved and spent once, and that what can be read is what was paid for, and no more."""
    plan = make_plan(load_config(CONF, settings))
    entries = LedgerReader(plan.ledger, lambda: pytest.fail("Spark was asked")).entries()
    states = Counter(entry.state for entry in entries)
    assert (states[State.GRANTED], states[State.RESERVED], states[State.SPENT]) == (1, draws, draws)
    table = str(plan.output.table("noisy_slices"))
    log, folder = open_log(table), open_folder(table)
    assert log is not None
    log.version()
    live = log.live_files()
    for entry in entries:
        if entry.state is State.SPENT:
            assert (
                sha256_of(table, [file for file in live if f"draw_id={entry.draw_id}/" in file]) == entry.tensor_sha256
            )
    stored = [found.name for found in folder.find() if found.name.startswith("draw_id=") and found.size]
    assert sorted(stored) == sorted(live), "a drawing that nobody paid for was left"
    return entries


def sha256_of(table: str, files: list[str]) -> str:
    """The SHA-256 of a tensor, from its files, as the ledger has it."""
    digests = []
    for file in files:
        content = open_folder(table).read(file)
        assert content is not None
        batches = pq.ParquetFile(io.BytesIO(content)).iter_batches(columns=list(SLICE_COLUMNS))
        digests += [(row["slice"], row["sha256"]) for batch in digest_slices(batches) for row in batch.to_pylist()]
    lines = "".join(f"{number} {sha256}\n" for number, sha256 in sorted(digests))
    return hashlib.sha256(lines.encode()).hexdigest()


@pytest.mark.parametrize(("kind", "delay"), [("fresh ledger", 6.0), ("last epsilon", 0.0), ("same draw", 6.0)])
def test_a_race(place: Place, kind: str, delay: float, tmp_path: Path) -> None:
    folder = uuid4().hex
    budget = "privacy.budget=12" if kind == "last epsilon" else "privacy.budget=6"
    if kind == "last epsilon":
        assert finished(vdr("collect", place.settings(folder, budget, "name=first")))[0] == 0
    names = ["anna", "anna" if kind == "same draw" else "berta"]
    moments = {"delay": delay, "go": str(tmp_path / "go")}
    rivals = [
        vdr("collect", place.settings(folder, budget, f"name={name}"), **moments, ready=str(tmp_path / str(number)))
        for number, name in enumerate(names)
    ]
    wait_for(rivals, [tmp_path / "0", tmp_path / "1"])
    (tmp_path / "go").touch()
    ended = sorted(finished(rival) for rival in rivals)
    assert ended[0][0] == 0, ended
    loser = ended[1][1]
    assert "Traceback" not in loser
    if kind == "same draw":
        assert ended[1][0] == 0 or "another process is collecting draw" in loser, loser
    else:
        assert ended[1][0] == ExitCode.BUDGET
        assert "does not allow this release: requested epsilon 6" in loser, loser
    check(place.settings(folder, budget, "name=anna"), draws=2 if kind == "last epsilon" else 1)


def wait_for(rivals: list[subprocess.Popen[str]], files: list[Path]) -> None:
    deadline = time.monotonic() + 300
    while not all(file.exists() for file in files):
        assert time.monotonic() < deadline
        assert all(rival.poll() is None for rival in rivals), [rival.communicate()[0] for rival in rivals]
        time.sleep(0.01)


@pytest.mark.parametrize(
    "moment",
    [
        {"at": f"{LEDGER}:_append", "when": "after", "call": 3},  # reserved, and the head does not know
        {"at": f"{STAGING}:write", "when": "after"},  # drawn, and nothing booked
        {"at": f"{LEDGER}:mark_spent", "when": "after"},  # booked, and not readable yet
        {"at": f"{STAGING}:commit", "when": "after"},  # readable, and the run not ended
    ],
    ids=["reserved", "drawn", "booked", "committed"],
)
def test_a_kill(place: Place, moment: dict[str, Any]) -> None:
    settings = place.settings(uuid4().hex)
    code, said = finished(vdr("collect", settings, **moment, then="kill"))
    assert code == -signal.SIGKILL, said
    code, said = finished(vdr("collect", settings))
    assert code == 0, said
    check(settings)


@pytest.mark.parametrize(
    ("at", "when", "sentence"),
    [
        (f"{STAGING}:write", "after", "took it for dead"),
        (f"{LEDGER}:mark_spent", "before", "was first: its noise stands"),
    ],
    ids=["before its drawing was looked at", "before it was booked"],
)
def test_who_was_taken_for_dead_and_was_not(place: Place, at: str, when: str, sentence: str) -> None:
    """A process that was held up is overtaken; when it goes on, it must not book or show a second drawing."""
    settings = place.settings(uuid4().hex)
    late = vdr("collect", settings, at=at, when=when, then="stop")
    while True:  # until the whole group is stopped
        pid, status = os.waitpid(late.pid, os.WUNTRACED | os.WNOHANG)
        if pid:
            assert os.WIFSTOPPED(status), finished(late)
            break
        time.sleep(0.1)
    code, said = finished(vdr("collect", settings))
    assert code == 0, said
    before = check_spending(settings)
    os.killpg(late.pid, signal.SIGCONT)
    code, said = finished(late)
    assert code == ExitCode.BUSY, said
    assert sentence in " ".join(said.split()), said
    assert check_spending(settings) == before
    assert finished(vdr("collect", settings))[0] == 0
    check(settings)


def check_spending(settings: list[str]) -> list[str]:
    plan = make_plan(load_config(CONF, settings))
    entries = LedgerReader(plan.ledger, lambda: pytest.fail("Spark was asked")).entries()
    return [entry.tensor_sha256 for entry in entries if entry.state is State.SPENT]
