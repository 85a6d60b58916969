"""Java's class archive for small sessions of this machine: classes are mapped in as they were, and not parsed again.

A session that only starts, counts and ends spends most of its time on reading and checking some ten thousand classes.
Java can keep them, checked, in a file (class data sharing), and the next session starts with a third less to do. The
file is written by Java itself when such a session ends, after it has let go of everything else: it holds classes and
nothing of any job. It lies beside the jars that Ivy fetched, and may be thrown away at any time.

It is made once for a Java and its jars, and only where jars were found again: where nothing is kept from one run to the
next, as in a container, making it would never pay. Java looks at path, time and size of every jar before it trusts the
file, and does without it where one differs; so these are part of its name here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

_SUFFIX = ".jsa"
_TRY = ".try-"
_OLDEST_JAVA = 17  # from which on we have seen it work
_MOST_TRIES = 3  # a process that is killed while it writes leaves no archive
_MOST_KEPT = 3  # of other Javas and jars: each takes some 200 MB
_MOST_LEFT = 2 << 30  # bytes that must be free before one is written


def archive_options(folder: Path, java: str, jars: Sequence[Path], may_make: bool) -> list[str]:
    """Return Java's options to use the archive of a Java, by its own words, and its jars; or to make it on leaving."""
    if not _knows_archives(java):
        return []
    try:
        archive = folder / f"vdr-spark.{_name(java, jars)}{_SUFFIX}"
        if _is_whole(archive):
            archive.touch()  # used last
            _forget(folder, f"{archive.name}{_TRY}*", keep=0)
            return [f"-XX:SharedArchiveFile={archive}"]
        if not may_make or not _is_worth_a_try(archive):
            return []
        _forget(folder, f"vdr-spark.*{_SUFFIX}", keep=_MOST_KEPT - 1)
        archive.with_name(f"{archive.name}{_TRY}{uuid4().hex}").touch()
    except OSError:  # a folder that cannot be written, a jar that is gone: Java starts as it always did
        return []
    return [f"-XX:ArchiveClassesAtExit={archive}"]


def _knows_archives(java: str) -> bool:
    found = re.search(r'version "(\d+)', java)
    return found is not None and int(found[1]) >= _OLDEST_JAVA and "OpenJ9" not in java


def _name(java: str, jars: Sequence[Path]) -> str:
    known = [java, *(f"{jar} {jar.stat().st_size} {jar.stat().st_mtime_ns}" for jar in sorted(jars))]
    return hashlib.sha256("\n".join(known).encode()).hexdigest()[:16]


def _is_whole(archive: Path) -> bool:
    """Whether Java came to the end of it: the header, which begins with a number that is not 0, is written last."""
    try:
        with archive.open("rb") as file:
            return any(file.read(4))
    except FileNotFoundError:
        return False


def _is_worth_a_try(archive: Path) -> bool:
    from shutil import disk_usage

    tries = [*archive.parent.glob(f"{archive.name}{_TRY}*")]
    return len(tries) < _MOST_TRIES and disk_usage(archive.parent).free > _MOST_LEFT


def _forget(folder: Path, pattern: str, keep: int) -> None:
    """Remove files of a pattern but those that were used last. A Java that has one open goes on with it."""
    by_age = sorted(folder.glob(pattern), key=lambda file: file.stat().st_mtime, reverse=True)
    for file in by_age[keep:]:
        with suppress(OSError):
            file.unlink()
