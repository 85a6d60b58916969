"""The headers of CSV files: the same line in all of them, or nothing is read.

Spark takes the names of the columns from one file and reads every file by position. Were another order allowed in
one of them, one person's file could change how everybody's rows are read. The lines are compared as Hadoop cuts them:
without the mark that some programs put before UTF-8, ended by CR, LF or both, unpacked by the end of the file's name.
"""

from __future__ import annotations

import posixpath
import re
from codecs import BOM_UTF8
from collections.abc import Sequence

from fsspec import AbstractFileSystem

from vdr_spark.errors import InvalidInput
from vdr_spark.pings.file_checks import read_each

MAX_LINE_BYTES = 1 << 16  # Spark's parser makes room for as many columns in every file, so not a million
_LINE_END = re.compile(rb"[\r\n]")
_BLANK = bytes(range(33))  # what Java trims, and so what Spark takes for a blank line
# By the end of the name, in small letters only, as Hadoop tells; the others Spark unpacks and we do not.
_COMPRESSIONS = {".gz": "gzip", ".bz2": "bz2"}
_UNSUPPORTED_COMPRESSIONS = (".deflate", ".lz4", ".snappy", ".zst")
_BY_POSITION = "or set input.header: false and name the columns by position in input.columns"


def check_headers(files: Sequence[str], path: str) -> None:
    """Refuse files, given as Spark's URIs, whose first lines are not the same to the letter. Empty files may be there.

    Neither a line nor a file is named: without a header the first line is a person's row, and files may be named
    after people.
    """
    if any(file.endswith(_UNSUPPORTED_COMPRESSIONS) for file in files):
        raise InvalidInput(
            f"input.header: headers are compared in plain files, .gz and .bz2, and {path} holds others; "
            f"pack them so, {_BY_POSITION}"
        )
    lines = set(read_each(files, _read_first_line, path))
    if None in lines or len(lines - {b""}) > 1:
        raise InvalidInput(
            f"input.header: all CSV files at {path} must begin with the same line, to the letter, of at most "
            f"{MAX_LINE_BYTES} bytes, and they do not; give every file the same header, {_BY_POSITION}"
        )


def find_first_line(head: bytes) -> bytes | None:
    """Return the first line that is not blank; empty where all are, None where the head was cut off before its end."""
    *lines, last = _LINE_END.split(head.removeprefix(BOM_UTF8))
    cut_off = len(head) > MAX_LINE_BYTES
    lines += [] if cut_off else [last]
    return next((line for line in lines if line.strip(_BLANK)), None if cut_off else b"")


def _read_first_line(fs: AbstractFileSystem, file: str) -> bytes | None:
    compression = _COMPRESSIONS.get(posixpath.splitext(file)[1])
    with fs.open(file, "rb", block_size=MAX_LINE_BYTES, compression=compression) as opened:
        return find_first_line(opened.read(MAX_LINE_BYTES + 1))
