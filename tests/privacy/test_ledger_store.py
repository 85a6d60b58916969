"""A ledger whose commits are conditional puts: what is decided is decided by all that was written, or anew.

The store is a folder on a disk, written as a bucket is; Spark takes no part.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import cast

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.privacy.written_ledger import chain, write_ledger
from tests.storage.folders import log_on_disk
from vdr_spark.errors import BudgetExceeded, LedgerConflict, OtherCurrency, OtherVersion
from vdr_spark.price import Price
from vdr_spark.privacy import ledger as ledger_module
from vdr_spark.privacy import ledger_reader
from vdr_spark.privacy.entries import BudgetRequest, Draw, Grant, State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.privacy.ledger_store import LedgerStore
from vdr_spark.storage import delta_files
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.schemas import LEDGER, VERSION_PROPERTY
from vdr_spark.storage.store_log import StoreLog

Open = Callable[[], Ledger]


@pytest.fixture
def open_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Open:
    """Open the ledger as another process would."""
    monkeypatch.setattr(ledger_reader, "open_log", log_on_disk)
    monkeypatch.setattr(ledger_module, "open_log_to_write", log_on_disk)
    places = LedgerPlaces(f"{tmp_path}/ledger", f"{tmp_path}/head.json")
    return lambda: Ledger(cast("SparkSession", None), places)


def request(name: str, epsilon: int = 6, budget: int = 6) -> BudgetRequest:
    draw = Draw(f"{name}-0123456789", Price.epsilon(epsilon), "cells", name)
    return BudgetRequest("people", (draw,), Grant(Price.epsilon(budget)), None, "")


def test_entries_are_kept_and_read_back(open_ledger: Open) -> None:
    ledger, mine = open_ledger(), request("a")
    assert ledger.entries() == []
    assert ledger.reserve(mine) is State.RESERVED
    assert ledger.reserve(mine) is State.RESERVED
    ledger.mark_spent(mine, mine.draws[0], "of the tensor")
    with pytest.raises(BudgetExceeded, match="requested epsilon 6, granted 6, already reserved or spent 6"):
        open_ledger().reserve(request("b"))
    states = [entry.state for entry in open_ledger().entries()]
    assert states == [State.GRANTED, State.RESERVED, State.SPENT, State.REFUSED]
    assert open_ledger().entries() == ledger.entries()


def test_who_was_overtaken_decides_anew(open_ledger: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process books the last epsilon between our decision and our commit, however long that takes."""
    open_ledger().reserve(request("first", epsilon=1, budget=7))
    slow, overtaken = open_ledger(), []
    plain = StoreLog.commit

    def late(self: StoreLog, *args: object) -> bool:
        if not overtaken:
            overtaken.append(True)
            open_ledger().reserve(request("fast"))
        return plain(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(StoreLog, "commit", late)
    with pytest.raises(BudgetExceeded, match="short by 6"):
        slow.reserve(request("slow"))
    account = open_ledger().account("people")
    assert (account.committed, account.remaining) == (7, 0)


def test_of_eight_at_once_one_opens_the_account_and_one_takes_the_epsilon(open_ledger: Open) -> None:
    together, results = threading.Barrier(8), []

    def rival(number: int) -> None:
        ledger = open_ledger()
        together.wait()
        try:
            results.append(str(ledger.reserve(request(f"rival{number}"))))
        except BudgetExceeded:
            results.append("refused")

    rivals = [threading.Thread(target=rival, args=(number,)) for number in range(8)]
    for thread in rivals:
        thread.start()
    for thread in rivals:
        thread.join(60)
    assert sorted(results) == ["refused"] * 7 + ["reserved"]
    states = [entry.state for entry in open_ledger().entries()]
    assert (states.count(State.GRANTED), states.count(State.RESERVED)) == (1, 1)


def test_two_tensors_of_one_draw_cannot_both_be_booked(open_ledger: Open) -> None:
    mine = request("a")
    open_ledger().reserve(mine)
    open_ledger().mark_spent(mine, mine.draws[0], "of the first")
    with pytest.raises(LedgerConflict, match="two draws for one price"):
        open_ledger().mark_spent(mine, mine.draws[0], "of the second")


def test_a_ledger_from_before_goes_on(open_ledger: Open, tmp_path: Path) -> None:
    """What Spark or delta-rs committed counts, and the chain goes on from there."""
    old = chain("people", (State.GRANTED, 7, ""), (State.RESERVED, 6, "old-1"))
    write_ledger(f"{tmp_path}/ledger", old)
    with pytest.raises(BudgetExceeded, match="already reserved or spent 6"):
        open_ledger().reserve(request("a", epsilon=2))
    open_ledger().reserve(request("b", epsilon=1))
    assert open_ledger().entries()[:2] == old
    assert [entry.sequence for entry in open_ledger().entries()] == [1, 2, 3, 4]


def test_a_crash_before_the_commit_leaves_nothing_that_counts(
    open_ledger: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    def die(*_: object) -> bool:
        raise Killed

    open_ledger().grant(request("a"), Grant(Price.epsilon(1)))
    with monkeypatch.context() as patch:
        patch.setattr(StoreLog, "commit", die)
        with pytest.raises(Killed):
            open_ledger().reserve(request("a", epsilon=1))
    assert [entry.state for entry in open_ledger().entries()] == [State.GRANTED]


def test_a_crash_after_the_commit_counts_and_is_taken_up(
    open_ledger: Open, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    class Killed(Exception):
        pass

    plain = LedgerStore.append

    def die_after(self: LedgerStore, entry: object) -> bool:
        plain(self, entry)  # type: ignore[arg-type]
        if entry.state is State.RESERVED:  # type: ignore[attr-defined]
            raise Killed
        return True

    with monkeypatch.context() as patch:
        patch.setattr(LedgerStore, "append", die_after)
        with pytest.raises(Killed):
            open_ledger().reserve(request("a"))
    assert json.loads((tmp_path / "head.json").read_text())["sequence"] == 1  # the head does not know
    assert open_ledger().account("people").reserved == 6
    assert open_ledger().reserve(request("a")) is State.RESERVED
    assert json.loads((tmp_path / "head.json").read_text())["sequence"] == 2
    assert len(open_ledger().entries()) == 2


def test_a_healthy_ledger_is_not_accused_for_an_old_copy(open_ledger: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head is ahead of what was read, because what was read is old: it is read again."""
    open_ledger().reserve(request("a"))
    reads: list[int] = []
    plain = LedgerStore.read_rows

    def old_at_first(self: LedgerStore) -> list[dict[str, object]]:
        reads.append(1)
        rows = plain(self)
        return rows[:1] if len(reads) == 1 else rows

    monkeypatch.setattr(LedgerStore, "read_rows", old_at_first)
    assert len(open_ledger().entries()) == 2
    assert len(reads) == 2


def test_a_ledger_that_was_cut_off_is_told_all_the_same(open_ledger: Open, tmp_path: Path) -> None:
    open_ledger().reserve(request("a"))
    (tmp_path / "ledger/_delta_log/00000000000000000002.json").unlink()
    with pytest.raises(LedgerConflict, match="cut off, replaced or deleted"):
        open_ledger().entries()


def in_rho(name: str, price: Price, budget: Price | None = None) -> BudgetRequest:
    draw = Draw(f"{name}-0123456789", price, "cells", name)
    return BudgetRequest("people", (draw,), Grant(budget or price, Fraction(1, 10**9)), None, "")


def test_of_eight_at_once_two_take_the_last_rho(open_ledger: Open) -> None:
    """Half of them are pure, and cost half their square: 1/2 each, whatever they are in."""
    open_ledger().grant(in_rho("any", Price.rho(1)), Grant(Price.rho(1), Fraction(1, 10**9)))
    together, won, refused = threading.Barrier(8), [], []

    def attempt(number: int) -> None:
        ledger, price = open_ledger(), Price.epsilon(1) if number % 2 else Price.rho("1/2")
        together.wait()
        try:
            won.append(ledger.reserve(in_rho(f"rival{number}", price)))
        except BudgetExceeded as refusal:
            refused.append(str(refusal))

    rivals = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join()
    account = open_ledger().account("people")
    assert won == [State.RESERVED] * 2
    assert len([words for words in refused if "requested rho 1/2" in words]) == 6
    assert (account.committed, account.remaining) == (1, 0)


def test_a_ledger_from_before_gets_its_columns_and_keeps_its_chain(open_ledger: Open, tmp_path: Path) -> None:
    """Of pure epsilon before there was rho; another dataset's budget is in rho, and any reader sees all of it."""
    old = chain("others", (State.GRANTED, 7, ""), (State.RESERVED, 6, "old-1"))
    write_ledger(f"{tmp_path}/ledger", old)
    before = DeltaTable(f"{tmp_path}/ledger")
    assert "rho" not in before.schema().to_arrow().names
    open_ledger().reserve(in_rho("new", Price.rho("1/3")))
    after = DeltaTable(f"{tmp_path}/ledger")
    assert after.metadata().id == before.metadata().id
    assert after.metadata().configuration[VERSION_PROPERTY] == "2"
    rows = {row["sequence"]: row for row in delta_files.read_rows(f"{tmp_path}/ledger", LEDGER)}
    assert [(rows[n]["epsilon"], rows[n]["rho"], rows[n]["delta"]) for n in (1, 2, 3, 4)] == [
        ("7", None, None),
        ("6", None, None),
        (None, "1/3", "1/1000000000"),
        (None, "1/3", None),
    ]
    assert open_ledger().entries()[:2] == old
    with pytest.raises(OtherCurrency, match="kept in pure epsilon"):
        open_ledger().reserve(replace(in_rho("b", Price.rho(1)), dataset="others"))
    assert len(open_ledger().entries()) == 4


def test_a_ledger_of_newer_software_is_refused(open_ledger: Open, tmp_path: Path) -> None:
    open_ledger().reserve(request("a"))
    log = sorted((tmp_path / "ledger/_delta_log").glob("*.json"))[0]
    log.write_text(log.read_text().replace('"vdr.schema_version":"2"', '"vdr.schema_version":"3"'))
    with pytest.raises(OtherVersion, match="Upgrade vdr-spark"):
        open_ledger().entries()
