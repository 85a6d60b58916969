"""A folder on a disk in which a file is created once, whoever tries: what a conditional put is in a store.

A file is written under a name of its own, and then given its name by a hard link, which the file system refuses where
the name is taken. So a file is there whole or not at all, and of any number of processes one is told yes.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

from vdr_spark.errors import DiskFull, EnvironmentProblem
from vdr_spark.storage.conditional_put import Found, NoConditionalPut
from vdr_spark.storage.free_space import is_disk_full


class DiskFolder:
    """A folder on a local disk, with those methods of a `StoreFolder` that Delta's tables need."""

    def __init__(self, location: str) -> None:
        self.location = location

    def create_if_absent(self, name: str, content: bytes) -> bool:
        """Create a file unless there is one of its name; False where another's is there. Content must be unique."""
        path = Path(self.location, name)
        draft = path.with_name(f".{uuid4().hex}.tmp")  # hidden: Spark takes no notice of it if we die here
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                _write_through(draft, content)
                return _link(draft, path, content)
            finally:
                draft.unlink(missing_ok=True)
        except OSError as problem:
            if is_disk_full(problem):
                raise DiskFull(f"a disk is full, that of {self.location}: make room and run the same again") from None
            raise EnvironmentProblem(f"{self.location} cannot be written to: {problem.strerror}") from None

    def read(self, name: str) -> bytes | None:
        """Return a file's content; None where there is none."""
        try:
            return Path(self.location, name).read_bytes()
        except FileNotFoundError:
            return None

    def find(self, prefix: str = "") -> list[Found]:
        """Return the files below a folder of this one, in the order of names."""
        files = (file for file in Path(self.location, prefix).rglob("*") if file.is_file())
        named = sorted((file.relative_to(self.location).as_posix(), file.stat()) for file in files)
        return [Found(name, known.st_size, known.st_mtime_ns // 1_000_000) for name, known in named]

    def remove(self, *names: str) -> None:
        """Remove files, and folders below this one that then hold nothing."""
        for name in names:
            Path(self.location, name).unlink(missing_ok=True)
        for folder in sorted({Path(name).parent for name in names} - {Path()}, reverse=True):
            with suppress(OSError):  # it holds something else, or is gone
                Path(self.location, folder).rmdir()


def has_hard_links(folder: Path) -> bool:
    """Whether the file system of a folder that exists lets a name be taken once."""
    draft, name = folder / f".{uuid4().hex}.tmp", folder / f".{uuid4().hex}.tmp"
    try:
        draft.touch()
        return _link(draft, name, b"")
    except (OSError, NoConditionalPut):
        return False
    finally:
        for file in (draft, name):
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _write_through(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _link(draft: Path, path: Path, content: bytes) -> bool:
    try:
        os.link(draft, path)
    except FileExistsError:
        return path.read_bytes() == content
    except (OSError, NotImplementedError):
        raise NoConditionalPut(f"{path.parent} lies on a file system without hard links") from None
    return True
