"""Mutual exclusion between processes of one machine.

Most object stores give Delta an atomic commit (S3 only with Delta's DynamoDB log store). A local disk does not give it
across processes, so whatever must not happen twice at once there is done while holding a lock file.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vdr_spark.errors import EnvironmentProblem, VdrError
from vdr_spark.storage.paths import holds_locks

_FOR_EVER = -1


class Busy(VdrError):
    """Another process is doing the same thing right now."""


@contextmanager
def exclusive(path: str | None, busy: str | None = None) -> Iterator[None]:
    """Hold the lock file `path`; wait for it, or raise `Busy(busy)` where a sentence is given.

    The kernel lets go of it when the process dies, however it dies. Without a path, or where a lock would not
    hold, nothing is locked.
    """
    if path is None or not holds_locks(path):
        yield
        return
    lock = _acquire(Path(path), busy)
    try:
        yield
    finally:
        lock.release()


def _acquire(path: Path, busy: str | None) -> FileLock:
    # Where the file system has no locks, filelock would make do with a file that outlives a killed process.
    lock = FileLock(path, timeout=0 if busy else _FOR_EVER, fallback_to_soft=False)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise Busy(busy) from None
    except OSError as problem:
        raise EnvironmentProblem(f"{path.parent} cannot be written to: {problem.strerror}") from None
    except NotImplementedError:
        raise EnvironmentProblem(
            f"{path.parent} lies on a file system without locks, on which two processes could draw noise at once; "
            "put `output` and `ledger` on another disk"
        ) from None
    return lock
