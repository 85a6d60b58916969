"""Folders of stores without a server: in memory, on a disk, and one that does not keep its word."""

from __future__ import annotations

from pathlib import Path

import obstore
from obstore.store import LocalStore, MemoryStore

from vdr_spark.storage.conditional_put import StoreFolder
from vdr_spark.storage.store_log import StoreLog


def in_memory(location: str = "s3a://bucket/place") -> StoreFolder:
    return StoreFolder(location, MemoryStore())


def on_disk(path: Path | str) -> StoreFolder:
    return StoreFolder(str(path), LocalStore(str(path), mkdir=True))


def log_on_disk(path: Path | str) -> StoreLog[StoreFolder]:
    """A table whose log is written by conditional puts, on a disk, where delta-rs and Spark read it by its path."""
    return StoreLog(str(path), on_disk(path))


class CarelessFolder(StoreFolder):
    """Of a server that takes the condition and ignores it, as some do that speak S3's language."""

    def create_if_absent(self, name: str, content: bytes) -> bool:
        obstore.put(self._store, name, content)
        return True


def careless(location: str) -> StoreFolder:
    return CarelessFolder(location, MemoryStore())
