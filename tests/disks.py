"""A disk of a few megabytes, to be filled: a real one, where this user may mount one."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def tiny_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of its own at a folder; the test is skipped where that is not allowed."""
    folder.mkdir(parents=True)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a disk")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path, leave: int) -> None:
    """Leave so many bytes of a disk, more or less."""
    with (disk / "filler").open("wb") as file:
        while (room := shutil.disk_usage(disk).free - leave) > 0:
            file.write(b"x" * min(room, 1 << 20))
            file.flush()
