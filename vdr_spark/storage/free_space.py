"""Room on local disks: how much is left, and whether something failed for want of it.

A full disk is a mistake that one can mend, so it is told as one, whoever came upon it: Python, pyarrow, delta-rs, Java.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vdr_spark.errors import DiskFull, VdrError
from vdr_spark.storage.paths import file_path, is_local

# Of the system's words for it only: an exception of Spark's may quote a row, so nothing of it is repeated.
_WORDS = re.compile(r"No space left on device|Disk quota exceeded|\(os error (?:28|122)\)|\((?:ENOSPC|EDQUOT)\)")
_NUMBERS = (errno.ENOSPC, errno.EDQUOT)

Places = Sequence[tuple[str, str]]
"""What a place is for, in words, and its path or URI."""


@dataclass(frozen=True)
class Room:
    """The disk on which a path lies, or would lie; sizes in bytes."""

    device: int
    free: int  # for this user
    total: int


def find_room(path: str) -> Room | None:
    """Return what a path's disk has to offer; None in a store, or where it cannot be seen."""
    if not is_local(path):
        return None
    try:
        folder = find_existing(path)
        usage = shutil.disk_usage(folder)
        return Room(os.stat(folder).st_dev, usage.free, usage.total)
    except OSError:
        return None


def find_existing(path: str) -> str:
    """Return the path, or the nearest folder above it that exists."""
    here = Path(file_path(path))
    return str(next((folder for folder in (here, *here.parents) if folder.exists()), Path("/")))


def is_disk_full(problem: BaseException) -> bool:
    """Whether an exception, or one that it came from, says that a disk is full."""
    seen: set[int] = set()
    while id(problem) not in seen:
        seen.add(id(problem))
        if (isinstance(problem, OSError) and problem.errno in _NUMBERS) or _WORDS.search(str(problem)):
            return True
        problem = problem.__cause__ or problem.__context__ or problem
    return False


@contextmanager
def explain_full_disk(find_places: Callable[[], Places]) -> Iterator[None]:
    """Tell a disk that filled up inside the block as a mistake to mend, with what is free at each place."""
    try:
        yield
    except DiskFull as problem:  # from a stage that has more to say
        raise DiskFull(f"{problem}{describe_rooms(find_places())}") from None
    except VdrError:
        raise
    except Exception as problem:
        if not is_disk_full(problem):
            raise
        raise DiskFull(
            "a disk is full: make room, or name another place, and run the same command again; what is complete is "
            f"kept{describe_rooms(find_places())}"
        ) from None


def describe_rooms(places: Places) -> str:
    """Return a sentence, to be put behind another, about what is free at each place that can be seen."""
    rooms = [(found.free, found.total, what, path) for what, path in places if (found := find_room(path))]
    listed = [
        f"{what} ({path}) {format_bytes(free)} of {format_bytes(total)}" for free, total, what, path in sorted(rooms)
    ]
    return f". Free now: {', '.join(listed)}" if listed else ""


def format_bytes(number: float) -> str:
    """Return a size for people, in powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} TB"
