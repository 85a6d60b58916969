"""The releases that a page may show: all of an output folder, or one that is in memory.

Before every answer the folder is asked whether the release is still there and still in force: what a page shows must
not outlive a withdrawal. It is asked again after a moment only, so that a film does not read the log 30 times a second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vdr_spark.errors import StageMissing, VdrError, Withdrawn
from vdr_spark.explore.held_cells import HeldCells, hold
from vdr_spark.release.read import build_release, open_cells, release_rows
from vdr_spark.release.release import Release
from vdr_spark.release.withdrawals import Withdrawals, read_withdrawals
from vdr_spark.storage.places import OutputFolder

_BELIEVED_SECONDS = 2.0
_AT_ONCE = 2  # releases whose cells are held: the one on screen, and one beside it


@dataclass(frozen=True)
class Entry:
    """A release as a list of them shows it."""

    release_id: str
    region: str
    created: str  # ISO, UTC
    model: str
    protected: bool
    withdrawn: bool
    comparable: tuple[object, ...]  # grids that are alike can be subtracted


class Shelf(Protocol):
    """Where releases come from."""

    first: str  # the release that a page opens with

    def entries(self) -> list[Entry]:
        """Return the releases there are, the newest first."""
        ...

    def open(self, release_id: str) -> Release:
        """Return a release that is still there; `VdrError` where it is not, or not to be used any more."""
        ...

    def close(self) -> None:
        """Let go of what is held."""
        ...


class OneRelease:
    """A release that is in memory, or in tables with names: there is nothing else to look at."""

    def __init__(self, release: Release) -> None:
        self.first, self._release = release.release_id, release

    def entries(self) -> list[Entry]:
        release = self._release
        about = (release.region or "", release.created.isoformat(), release.model, release.protected)
        return [Entry(release.release_id, *about, release.withdrawal is not None, ())]

    def open(self, release_id: str) -> Release:
        if release_id != self.first:
            raise StageMissing(f"release must be {self.first}, the only one here, not {release_id!r}")
        return self._release

    def close(self) -> None:
        pass


class FolderShelf:
    """The releases of an output folder, read without Spark."""

    def __init__(
        self,
        output: str,
        first: str,
        withdrawn_too: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.first, self._folder, self._withdrawn_too = first, OutputFolder.at(output), withdrawn_too
        self._open: dict[str, Release] = {}
        self._clock, self._lock, self._stop = clock, threading.RLock(), threading.Event()
        self._read: tuple[float, list[dict[str, Any]], Withdrawals] | None = None

    def entries(self) -> list[Entry]:
        rows, gone = self._tables()
        newest_first = sorted(rows, key=lambda row: row["created"], reverse=True)
        return [_entry(row, row["release_id"] in gone) for row in newest_first]

    def open(self, release_id: str) -> Release:
        rows, gone = self._tables()
        row = next((row for row in rows if row["release_id"] == release_id), None)
        if row is None:
            raise StageMissing(
                f"release {release_id} is not in {self._folder.root} any more, or never was; choose another one, or "
                "restore its tables"
            )
        if release_id in gone and not self._withdrawn_too:
            raise Withdrawn(f"release {release_id} was {gone[release_id]}. Do not use it any more; choose another one")
        with self._lock:
            if release_id not in self._open:
                self._keep(release_id, self._build(row, gone))
            return replace(self._open[release_id], withdrawal=gone.get(release_id))

    def close(self) -> None:
        self._stop.set()

    def _build(self, row: dict[str, Any], gone: Withdrawals) -> Release:
        root = self._folder.root
        return hold(build_release(row, self._folder, lambda chosen, grid: open_cells(root, chosen, grid), gone))

    def _keep(self, release_id: str, release: Release) -> None:
        if len(self._open) >= _AT_ONCE:
            self._open.pop(next(iter(self._open)))
        self._open[release_id] = release

    def warm(self, release_id: str) -> None:
        """Begin to read the other cells of a release that is open, so that they are there when they are asked for."""
        with self._lock:
            release = self._open.get(release_id)
        if release is not None and isinstance(release.cells, HeldCells):
            threading.Thread(target=_read_ahead, args=(release.cells, self._stop), daemon=True).start()

    def _tables(self) -> tuple[list[dict[str, Any]], Withdrawals]:
        """Return the rows of `releases` and what was withdrawn, as of a moment ago."""
        with self._lock:
            now = self._clock()
            if self._read is None or now - self._read[0] >= _BELIEVED_SECONDS:
                self._read = None  # where reading fails, it is tried again
                self._read = (now, release_rows(self._folder), read_withdrawals(self._folder))
            return self._read[1], self._read[2]


def _read_ahead(cells: HeldCells, stop: threading.Event) -> None:
    try:
        cells.hold_all(stop)
    except (VdrError, OSError):
        return  # whoever asks for these cells is told what is wrong with them


def _entry(row: dict[str, Any], withdrawn: bool) -> Entry:
    grid = tuple(row[name] for name in ("south", "west", "north", "east", "cells_per_side"))
    about = (row["region"] or "", row["created"].isoformat(), row["model"], row["protected"])
    return Entry(row["release_id"], *about, withdrawn, grid)


def shelf_of(release: Release, withdrawn_too: bool = False) -> OneRelease | FolderShelf:
    """Return where a release and its neighbours come from: its folder, where it was read from one."""
    if release.output is None or release.tables is not None:
        return OneRelease(release)
    return FolderShelf(release.output, release.release_id, withdrawn_too or release.withdrawal is not None)
