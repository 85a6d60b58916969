"""One of two processes of a race over a ledger and a draw in a store, without Spark: what `vdr collect` does there.

It does what the stage does, in its order, by the product's own classes: lease, reservation, a drawing (fresh random
bytes) written aside, booking, commit. Before each commit of a log up to `delay` seconds pass.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import sys
import time
from pathlib import Path
from typing import Any, cast

from pyspark.sql import SparkSession

from vdr_spark.errors import VdrError
from vdr_spark.price import Price
from vdr_spark.privacy.entries import BudgetRequest, Draw, Grant, State
from vdr_spark.privacy.ledger import Ledger
from vdr_spark.storage import leases
from vdr_spark.storage.locks import exclusive
from vdr_spark.storage.places import LedgerPlaces
from vdr_spark.storage.schemas import NOISY_SLICES
from vdr_spark.storage.store_access import learn
from vdr_spark.storage.store_log import LiveFile, StoreLog, open_log_to_write


def race(settings: dict[str, Any], name: str, say: Path, go: Path) -> str:
    """Collect a draw in a store; returns what a person would read."""
    root, delay = settings["root"], settings["delay"]
    learn(settings["hadoop"])
    _hold_up_commits(delay)
    leases.BEAT, leases.SILENCE = 0.5, settings.get("silence", 60.0)
    draw = Draw(settings["draws"][name], Price.epsilon(settings["epsilon"]), "cells", settings["draws"][name] * 6)
    request = BudgetRequest("people", (draw,), Grant(Price.epsilon(settings["budget"])), None, "")
    ledger = Ledger(cast("SparkSession", None), LedgerPlaces(f"{root}/ledger", f"{root}/ledger.head.json"))
    ledger.entries()
    say.touch()
    while not go.exists():
        time.sleep(0.001)
    busy = f"another process is collecting draw {draw.draw_id} right now"
    try:
        with exclusive(f"{root}/work/{draw.draw_id}.lock", busy=busy):
            return _collect(ledger, request, draw, f"{root}/tables/noisy_slices")
    except VdrError as refusal:
        return f"{type(refusal).__name__}: {refusal}"


def _collect(ledger: Ledger, request: BudgetRequest, draw: Draw, place: str) -> str:
    log = open_log_to_write(place)
    assert log is not None
    log.create(NOISY_SLICES)
    if log.has(f"draw:{draw.draw_id}"):
        return "there already"
    if ledger.reserve(request) is State.SPENT:
        return "paid for already"
    numbers = secrets.token_bytes(64)
    file = f"draw_id={draw.draw_id}/{secrets.token_hex(8)}.parquet"
    log.folder.create_if_absent(file, numbers)
    ledger.mark_spent(request, draw, hashlib.sha256(numbers).hexdigest())
    log.append_once([LiveFile(file, len(numbers), 0)], f"draw:{draw.draw_id}")
    return "drawn"


def _hold_up_commits(delay: float) -> None:
    """Wait between the decision and the put, as a slow network does: whoever looks in between sees nothing."""
    plain = StoreLog.commit

    def late(self: StoreLog, *args: Any) -> bool:
        time.sleep(delay * secrets.randbelow(1000) / 1000)
        return plain(self, *args)

    if delay:
        StoreLog.commit = late  # type: ignore[method-assign]


if __name__ == "__main__":
    told, who, ready, start = sys.argv[1:]
    print("RESULT", race(json.loads(Path(told).read_text()), who, Path(ready), Path(start)))
