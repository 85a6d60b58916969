"""Mutual exclusion between processes: a lock file on a disk, a lease in an object store.

A local disk gives Delta no atomic commit across processes, so whatever must not happen twice at once there is done
while holding a lock file. In a store a lease stands for it (`storage.leases`), and commits are conditional puts.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from vdr_spark.errors import Busy, EnvironmentProblem
from vdr_spark.storage.conditional_put import StoreFolder, find_proven_folder
from vdr_spark.storage.leases import holding
from vdr_spark.storage.paths import holds_locks, is_local

_FOR_EVER = -1


@contextmanager
def exclusive(path: str | None, busy: str | None = None) -> Iterator[None]:
    """Hold the lock file `path`, or the lease of that name; wait for it, or raise `Busy(busy)` if a sentence is given.

    The kernel lets go of a lock when the process dies, however it dies; a lease runs out. Without a path, or where
    neither would hold, nothing is locked: a person said that there is no second process (`single_writer`).
    """
    folder = None if path is None or is_local(path) else find_proven_folder(path)
    if isinstance(folder, StoreFolder):
        with holding(folder, busy):
            yield
        return
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
