"""A lease: what stands for a lock file in an object store.

Claims of a lease are numbered, and each is an object that the store lets be created once: who creates number n+1 has
the lease. The holder says every few seconds that it lives, and at its end that it has ended. Who wants the lease looks
at the last claim: ended, it is free; alive, it is taken; silent for long, its holder is taken for dead. How long is
measured by the clock of who waits, between two looks of its own, so no two clocks are compared.

A lease saves work and cannot be the guarantee: a process that was held up for minutes does not know that it was taken
for dead. What must never happen twice is decided by the ledger, in one conditional put.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from uuid import uuid4

from vdr_spark.errors import Busy, VdrError
from vdr_spark.storage.conditional_put import StoreFolder

logger = logging.getLogger(__name__)

BEAT = 5.0  # seconds between two signs of life
SILENCE = 60.0  # seconds without one, after which a holder is taken for dead


@contextmanager
def holding(folder: StoreFolder, busy: str | None) -> Iterator[None]:
    """Hold the lease of a folder; wait for it, or raise `Busy(busy)` where a sentence is given and its holder lives."""
    number = _acquire(folder, busy)
    ended = threading.Event()
    beating = threading.Thread(target=_beat, args=(folder, number, ended), daemon=True)
    beating.start()
    try:
        yield
    finally:
        ended.set()
        beating.join()
        folder.replace(_end(number), b"")


def _acquire(folder: StoreFolder, busy: str | None) -> int:
    """Return the number of our claim, once the one before has ended, or its holder is silent for too long."""
    while True:
        last = _last_claim(folder)
        if last and not _is_over(folder, last, busy):
            continue  # it has ended, or another was faster to follow it
        claim = {"writer": uuid4().hex, "host": socket.gethostname(), "process": os.getpid(), "since": _now()}
        if folder.create_if_absent(_claim(last + 1), json.dumps(claim).encode()):
            return last + 1


def _is_over(folder: StoreFolder, number: int, busy: str | None) -> bool:
    """Watch a claim until it ends, or its holder is silent for too long; False where another claim followed it."""
    logger.info("%s is held; waiting until its holder ends, or says nothing for %g s", folder.location, SILENCE)
    seen, since = folder.read(_sign(number)), time.monotonic()
    while folder.read(_end(number)) is None:
        if _last_claim(folder) != number:
            return False
        sign = folder.read(_sign(number))
        if sign != seen:
            if busy is not None:
                raise Busy(busy)
            seen, since = sign, time.monotonic()
        if time.monotonic() - since > SILENCE:
            return True
        time.sleep(BEAT / 5)
    return True


def _beat(folder: StoreFolder, number: int, ended: threading.Event) -> None:
    count = 0
    while not ended.wait(BEAT if count else 0):
        count += 1
        with suppress(VdrError):  # the store may be away for a moment; silence is what others notice
            folder.replace(_sign(number), str(count).encode())


def _last_claim(folder: StoreFolder) -> int:
    claims = [found.name for found in folder.find() if found.name.endswith(".claim")]
    return max((int(name.removesuffix(".claim")) for name in claims), default=0)


def _claim(number: int) -> str:
    return f"{number:06d}.claim"


def _sign(number: int) -> str:
    return f"{number:06d}.alive"


def _end(number: int) -> str:
    return f"{number:06d}.ended"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
