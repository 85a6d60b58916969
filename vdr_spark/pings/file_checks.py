"""Every file is looked at from the driver before any row is read: at its first line, or at its footer."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fsspec import AbstractFileSystem

from vdr_spark.errors import InvalidInput
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.paths import decode_uri

Found = TypeVar("Found")
_FILES_AT_ONCE = 16  # each is mostly waiting for its store


def read_each(files: Sequence[str], read: Callable[[AbstractFileSystem, str], Found], path: str) -> list[Found]:
    """Apply `read` to each file at `path`, given as Spark's URIs; refuse where one cannot be reached."""
    try:
        with ThreadPoolExecutor(_FILES_AT_ONCE) as pool:
            return list(pool.map(lambda uri: read(*filesystem(decode_uri(uri))), files))
    except (ImportError, OSError, EOFError, ValueError, zlib.error):
        # These would name the file, which may be named after a person.
        raise InvalidInput(
            f"input.path: a file at {path} cannot be read on the driver, where files are compared before any row is "
            "read; mend the files and the rights to read them, or install fsspec's package for their store"
        ) from None
