"""Files as tasks open them, by pyarrow alone: on a disk, or in S3 by pyarrow's own client. Workers import this."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from vdr_spark.storage.paths import decode_uri

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.fs import S3FileSystem

S3Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FileAccess:
    """How some files are opened: in S3 with options of pyarrow's client, keys among them; else on a disk.

    Tasks are sent it as Spark sends them Hadoop's settings. It never shows what it holds.
    """

    s3: S3Options | None = field(default=None, repr=False)

    def open(self, uri: str) -> str | pa.NativeFile:
        """Return what pyarrow reads of a percent-encoded URI, a path or an open file; `OSError` where it is not."""
        if self.s3 is None:
            return decode_uri(uri)
        return _client(self.s3).open_input_file(_key_of(uri))

    def size_of(self, uri: str) -> int:
        """Return a file's bytes; `OSError` where it is not there, or may not be seen."""
        if self.s3 is None:
            return os.path.getsize(decode_uri(uri))
        found = _client(self.s3).get_file_info(_key_of(uri))
        if not found.is_file:
            raise FileNotFoundError(uri)
        return int(found.size)


ON_DISK = FileAccess()


def _key_of(uri: str) -> str:
    """Return bucket and key, as pyarrow writes them: without a scheme."""
    return decode_uri(uri).partition("://")[2]


@lru_cache(maxsize=4)
def _client(options: S3Options) -> S3FileSystem:
    """Return the client of this process; making one asks for a role's keys, and reads the machine's settings."""
    from pyarrow.fs import S3FileSystem

    return S3FileSystem(**dict(options))
