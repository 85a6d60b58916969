"""`vdr` with a slow or deadly moment in it: as a network that holds requests up, or a machine that dies, makes it.

What happens where stands in the environment (VDR_MOMENTS), as JSON:

* `delay`: at most so many seconds pass before each commit of a Delta log in a store;
* `ready`, `go`: before the stage begins, the file `ready` is made and the file `go` waited for;
* `at`: module, class, method and which call of it; `then`: `kill` or `stop` the whole process group before or after it.
"""

from __future__ import annotations

import importlib
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vdr_spark.collect import stage
from vdr_spark.storage import leases
from vdr_spark.storage.store_log import StoreLog

MOMENTS = "VDR_MOMENTS"


def before(owner: Any, name: str, action: Callable[[], None]) -> None:
    plain = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        action()
        return plain(*args, **kwargs)

    setattr(owner, name, wrapped)


def after(owner: Any, name: str, action: Callable[[], None]) -> None:
    plain = getattr(owner, name)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        result = plain(*args, **kwargs)
        action()
        return result

    setattr(owner, name, wrapped)


def arm(moments: dict[str, Any]) -> None:
    leases.BEAT, leases.SILENCE = 1.0, moments.get("silence", 6.0)
    if delay := moments.get("delay", 0):
        before(StoreLog, "commit", lambda: time.sleep(delay * secrets.randbelow(1000) / 1000))
    if "go" in moments:
        before(stage, "check_places", lambda: _wait(Path(moments["ready"]), Path(moments["go"])))
    if "at" in moments:
        module, owner, method = moments["at"].rsplit(":", 2)
        strike = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}[moments["then"]]
        at = {"before": before, "after": after}[moments["when"]]
        at(getattr(importlib.import_module(module), owner), method, _Countdown(moments.get("call", 1), strike))


class _Countdown:
    """At the given call, a signal to the whole process group, the JVM and the workers among it."""

    def __init__(self, call: int, strike: signal.Signals) -> None:
        self._left, self._strike = call, strike

    def __call__(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.killpg(os.getpgid(0), self._strike)
            time.sleep(0.5)  # until the signal is there


def _wait(ready: Path, go: Path) -> None:
    ready.touch()
    while not go.exists():
        time.sleep(0.001)


if __name__ == "__main__":
    from vdr_spark.cli import main

    arm(json.loads(os.environ[MOMENTS]))
    sys.argv[0] = "vdr"
    main()
