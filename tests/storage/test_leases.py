"""A lease: one holder, a sentence for who comes second, and an end for who is silent."""

from __future__ import annotations

import threading
import time

import pytest

from tests.storage.folders import in_memory
from vdr_spark.errors import Busy
from vdr_spark.storage import leases
from vdr_spark.storage.conditional_put import StoreFolder
from vdr_spark.storage.leases import holding


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leases, "BEAT", 0.05)
    monkeypatch.setattr(leases, "SILENCE", 1.0)


def claims(folder: StoreFolder) -> list[str]:
    return [found.name for found in folder.find() if found.name.endswith(".claim")]


def test_who_comes_second_is_told_and_may_come_again() -> None:
    folder = in_memory()
    with holding(folder, "taken"):
        time.sleep(0.1)
        with pytest.raises(Busy, match="taken"), holding(folder, "taken"):
            pass
    with holding(folder, "taken"):
        assert claims(folder) == ["000001.claim", "000002.claim"]


def test_who_waits_gets_it_when_it_is_free() -> None:
    folder, order = in_memory(), []

    def wait() -> None:
        with holding(folder, None):
            order.append("second")

    with holding(folder, None):
        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(1.5)  # longer than a silent holder is waited for
        order.append("first")
    waiting.join(10)
    assert order == ["first", "second"]


def test_who_is_silent_is_taken_for_dead() -> None:
    folder = in_memory()
    folder.create_if_absent("000001.claim", b"of a process that died")
    folder.replace("000001.alive", b"7")
    began = time.monotonic()
    with holding(folder, "taken"):
        assert time.monotonic() - began > 1.0
        assert claims(folder) == ["000001.claim", "000002.claim"]


def test_of_two_who_find_it_free_one_has_it() -> None:
    folder = in_memory()
    inside, told, both = [], [], threading.Barrier(8)

    def try_it(number: int) -> None:
        both.wait()
        try:
            with holding(folder, "taken"):
                inside.append(number)
                time.sleep(2)
        except Busy:
            told.append(number)

    rivals = [threading.Thread(target=try_it, args=(number,)) for number in range(8)]
    for rival in rivals:
        rival.start()
    for rival in rivals:
        rival.join(20)
    assert len(inside) == 1
    assert len(told) == 7
