"""Mutual exclusion between processes of one machine.

Most object stores give Delta an atomic commit (S3 only with Delta's DynamoDB log store). A local disk does not give it
across processes, so whatever must not happen twice at once there is done while holding a lock file.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vdr_spark.errors import EnvironmentProblem, VdrError


class Busy(VdrError):
    """Another process is doing the same thing right now."""


@contextmanager
def exclusive(path: str, busy: str | None = None) -> Iterator[None]:
    """Hold the lock file `path`; wait for it, or raise `Busy(busy)` where a sentence is given.

    The kernel lets go of it when the process dies, however it dies. Paths on object stores are not locked.
    """
    if "://" in path:
        yield
        return
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = open(path, "w")  # noqa: SIM115  closed below, where the lock is given back
    except OSError as problem:
        raise EnvironmentProblem(f"{Path(path).parent} cannot be written to: {problem.strerror}") from None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (fcntl.LOCK_NB if busy else 0))
        except BlockingIOError:
            raise Busy(busy) from None
        yield
