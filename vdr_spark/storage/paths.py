"""What a location written by a person means: on this machine, in an object store, on Databricks, from any folder.

A location is passed around under the name that Spark knows it by. Where it is opened without Spark (`file_path`), a
place on Databricks has a second name: the files of a volume are mounted under /Volumes, on a cluster those of dbfs:/x
under /dbfs/x, and serverless compute mounts only volumes.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from vdr_spark.errors import InvalidConfig

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_FILE = re.compile(r"^file:(//)?(?=/)")
_DBFS = "dbfs:/"
_VOLUMES, _CLUSTER_MOUNT = "/Volumes/", "/dbfs/"
_MOUNTS = (_VOLUMES, _CLUSTER_MOUNT, "/Workspace/")
_root = ""  # of the mounts; tests have them elsewhere


def on_databricks() -> bool:
    """Whether this process runs on a cluster or serverless compute of Databricks."""
    return "DATABRICKS_RUNTIME_VERSION" in os.environ


def absolute(location: str) -> str:
    """Return a location as Spark knows it, from any working directory; a plain path where it is on this machine.

    A volume has one name, /Volumes/..., however it is written, and so has a place in DBFS: dbfs:/...
    """
    plain = _FILE.sub("", location)
    if plain.startswith(_DBFS):
        _require_databricks(location)
        within = "/" + plain.removeprefix(_DBFS).lstrip("/")
        return within if within.startswith(_VOLUMES) else f"{_DBFS}{within[1:]}"
    if on_databricks() and plain.startswith(_CLUSTER_MOUNT):
        return _DBFS + plain.removeprefix(_CLUSTER_MOUNT)
    return str(Path(plain).absolute()) if is_local(plain) else plain


def name_for_ids(location: str) -> str:
    """Return the name by which ids of draws know a location. Never to be changed: a draw would be paid for again."""
    plain = _FILE.sub("", location)
    return str(Path(plain).absolute()) if is_local(plain) else plain


def resolve(location: str) -> str:
    """Return where a location really is, as far as this machine knows: links followed, `..` resolved."""
    place = absolute(location)
    return os.path.realpath(place) if is_local(place) else place.rstrip("/")


def is_local(location: str) -> bool:
    """Whether a location is a path of this machine, and not the URI of a store elsewhere: s3://b/x, dbfs:/x."""
    return _URI.match(location) is None


def is_file_uri(uri: str) -> bool:
    """Whether a URI of Spark's names a file on a disk: file:/x, file:///x."""
    return _FILE.match(uri) is not None


def holds_locks(location: str) -> bool:
    """Whether a lock at a location keeps out whoever else writes there: on a disk, not in a store, mounted or not.

    What Databricks mounts lies in a store that other clusters mount too, and their locks are not ours.
    """
    return is_local(location) and not (on_databricks() and location.startswith(_MOUNTS))


def is_same_for_spark(location: str) -> bool:
    """Whether Spark means by a location what Python means by it. On Databricks it takes /x for dbfs:/x."""
    return not on_databricks() or not is_local(location) or location.startswith((_VOLUMES, "/Workspace/"))


def file_path(location: str) -> str:
    """Return the name by which Python opens a location, or fsspec, where it is in a store."""
    if not location.startswith(_DBFS):
        return f"{_root}{location}" if on_databricks() and location.startswith(_MOUNTS) else location
    place = absolute(location)
    if place.startswith(_VOLUMES):
        return f"{_root}{place}"
    if not os.path.isdir(f"{_root}{_CLUSTER_MOUNT}"):
        raise InvalidConfig(
            f"{location} must be opened without Spark, too, and {_CLUSTER_MOUNT} is not mounted here, as on serverless "
            "compute; use a volume: /Volumes/catalog/schema/volume/..."
        )
    return f"{_root}{_CLUSTER_MOUNT}{place.removeprefix(_DBFS)}"


def decode_uri(uri: str) -> str:
    """Return the location that a percent-encoded URI of Spark's names; of a file, its plain path."""
    return _FILE.sub("", unquote(uri))


def _require_databricks(location: str) -> None:
    if not on_databricks():
        raise InvalidConfig(
            f"{location} is a place of Databricks' own file system, and this is not Databricks (no "
            "DATABRICKS_RUNTIME_VERSION is set); run it there, or name a path or a store that is reached from here"
        )
