"""Files by fsspec, on a local disk or in an object store: whole or not there."""

from __future__ import annotations

import json
import posixpath
from contextlib import suppress
from typing import Any
from uuid import uuid4

import fsspec
from fsspec.implementations.local import LocalFileSystem

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.storage.free_space import is_disk_full
from vdr_spark.storage.paths import file_path
from vdr_spark.storage.store_access import fsspec_options

# Hadoop's names of object stores, and what fsspec calls the same stores.
_FSSPEC_SCHEMES = {"s3a": "s3", "s3n": "s3", "wasbs": "abfs", "wasb": "abfs"}


def filesystem(path: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a path and the path in it, by Hadoop's or by fsspec's name of the store."""
    path = file_path(path)
    scheme, separator, rest = path.partition("://")
    known = f"{_FSSPEC_SCHEMES.get(scheme, scheme)}{separator}{rest}" if separator else path
    try:
        return fsspec.core.url_to_fs(known, **fsspec_options(known))  # type: ignore[no-any-return]
    except ImportError as problem:
        raise EnvironmentProblem(
            f"{path} is in a store that Python reaches by a package of its own, which is not installed ({problem}); "
            "for S3 run: pip install vdr-spark[stores]"
        ) from problem


def exists(path: str) -> bool:
    fs, inside = filesystem(path)
    return bool(fs.exists(inside))


def write_text(path: str, content: str) -> None:
    """Write a small file so that a reader sees either all of it or none."""
    fs, inside = filesystem(path)
    fs.makedirs(posixpath.dirname(inside), exist_ok=True)
    if not isinstance(fs, LocalFileSystem):
        fs.pipe_file(inside, content.encode())  # whole or not at all, and no right to delete is needed
        return
    draft = f"{inside}.tmp{uuid4().hex}"  # of its own: another process may write the same file at this moment
    try:
        fs.pipe_file(draft, content.encode())
        fs.mv(draft, inside)
    except BaseException:
        with suppress(OSError):
            fs.rm_file(draft)
        raise


def require_writable(path: str, name: str) -> None:
    """Refuse a folder, named by an option, in which no file can be made: now, and not when hours of work are done."""
    probe = posixpath.join(path, f".vdr-probe-{uuid4().hex}")
    try:
        write_text(probe, "")
        fs, inside = filesystem(probe)
        with suppress(OSError):  # a store may give no right to remove
            fs.rm_file(inside)
    except OSError as problem:
        if is_disk_full(problem):
            raise
        raise EnvironmentProblem(
            f"{name}: {path} cannot be written to ({problem.strerror or problem}); make it writable, or name another"
        ) from None


def read_text(path: str) -> str:
    fs, inside = filesystem(path)
    content: bytes = fs.cat_file(inside)
    return content.decode()


def as_json(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, sort_keys=True, default=str)


def write_json(path: str, content: dict[str, Any]) -> None:
    write_text(path, as_json(content))


def read_json(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(read_text(path))
    return content
