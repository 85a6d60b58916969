"""The releases that a page may show: all of an output folder, one of a catalog's tables, or one that is in memory.

Before every answer the tables are asked whether the release is still there and still in force: what a page shows must
not outlive a withdrawal. They are asked again after a moment only, so that a film does not read the log 30 times a
second.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

from vdr_spark.errors import EnvironmentProblem, StageMissing, VdrError, Withdrawn
from vdr_spark.explore.held_cells import HeldCells, hold
from vdr_spark.release.read import build_release, open_cells, release_rows
from vdr_spark.release.release import Release
from vdr_spark.release.withdrawals import Withdrawals, read_withdrawals
from vdr_spark.storage.places import OutputFolder

_BELIEVED_SECONDS = 2.0
_BELIEVED_SECONDS_OF_SPARK = 8.0  # each time costs two queries
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


Standing = tuple[list[dict[str, Any]], Withdrawals]
"""The rows of `releases`, and what was withdrawn."""


class Remembered:
    """What tables say of their releases, as of a moment ago."""

    def __init__(self, read: Callable[[], Standing], seconds: float, clock: Callable[[], float]) -> None:
        self._read, self._seconds, self._clock = read, seconds, clock
        self._lock = threading.Lock()
        self._last: tuple[float, list[dict[str, Any]], Withdrawals] | None = None

    def __call__(self) -> Standing:
        with self._lock:
            now = self._clock()
            if self._last is None or now - self._last[0] >= self._seconds:
                self._last = None  # where reading fails, it is tried again
                self._last = (now, *self._read())
            return self._last[1], self._last[2]


def require_usable(standing: Standing, release_id: str, place: object, withdrawn_too: bool) -> dict[str, Any]:
    """Return a release's row; refuse one that is not there any more, or not to be used any more."""
    rows, gone = standing
    row = next((row for row in rows if row["release_id"] == release_id), None)
    if row is None:
        raise StageMissing(
            f"release {release_id} is not in {place} any more, or never was; choose another one, or restore its tables"
        )
    if release_id in gone and not withdrawn_too:
        raise Withdrawn(f"release {release_id} was {gone[release_id]}. Do not use it any more; choose another one")
    return row


class OneRelease:
    """A release that is in memory: there is nothing else to look at."""

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


class NamedRelease(OneRelease):
    """A release of tables with names, which was read once by Spark; whether it is still in force, Spark is asked."""

    def __init__(
        self,
        release: Release,
        read: Callable[[], Standing],
        withdrawn_too: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(release)
        self._withdrawn_too = withdrawn_too
        self._standing = Remembered(read, _BELIEVED_SECONDS_OF_SPARK, clock)

    def entries(self) -> list[Entry]:
        _, gone = self._standing()
        return [replace(entry, withdrawn=entry.release_id in gone) for entry in super().entries()]

    def open(self, release_id: str) -> Release:
        release, standing = super().open(release_id), self._standing()
        require_usable(standing, release_id, release.tables, self._withdrawn_too)
        return replace(release, withdrawal=standing[1].get(release_id))


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
        self._lock, self._stop = threading.RLock(), threading.Event()
        self._tables = Remembered(self._read_tables, _BELIEVED_SECONDS, clock)

    def entries(self) -> list[Entry]:
        rows, gone = self._tables()
        newest_first = sorted(rows, key=lambda row: row["created"], reverse=True)
        return [_entry(row, row["release_id"] in gone) for row in newest_first]

    def open(self, release_id: str) -> Release:
        standing = self._tables()
        row, gone = require_usable(standing, release_id, self._folder.root, self._withdrawn_too), standing[1]
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

    def _read_tables(self) -> Standing:
        return release_rows(self._folder), read_withdrawals(self._folder)


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
    """Return where a release and its neighbours come from: its folder, or its tables, where it was read from some."""
    withdrawn_too = withdrawn_too or release.withdrawal is not None
    if release.output is None:
        return OneRelease(release)
    if release.tables is not None:
        return NamedRelease(release, _read_by_spark(OutputFolder.at(release.output, release.tables)), withdrawn_too)
    return FolderShelf(release.output, release.release_id, withdrawn_too)


def _read_by_spark(folder: OutputFolder) -> Callable[[], Standing]:
    """Return how tables with names are asked: by the session that read the release."""
    from pyspark.sql import SparkSession

    from vdr_spark.release.views import rows_by_spark, withdrawals_by_spark

    spark = SparkSession.getActiveSession()  # of this thread; those of a server have none
    if spark is None:
        raise EnvironmentProblem(
            f"the release's tables have names ({folder.tables}), and no Spark session is there to ask whether it is "
            "still in force; open one: vdr_spark.spark_session()"
        )
    return lambda: (rows_by_spark(spark, folder), withdrawals_by_spark(spark, folder))
