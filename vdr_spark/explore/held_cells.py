"""Cells that stay in memory once they were read: whoever looks at a slice will look at the next one.

Slices are read eight at a time, as the files have them: one would cost as much. What was asked for longest ago goes
first where a release is larger than the room there is.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import replace

import numpy as np

from vdr_spark.arrays import Slices
from vdr_spark.grid import Grid
from vdr_spark.release.cell_layout import SLICES
from vdr_spark.release.cell_source import CellSource, Part
from vdr_spark.release.release import Release

ROOM_BYTES = 2_000_000_000
_CELL_BYTES = 8  # a count and a deviation
_BREATH_SECONDS = 0.02  # between two blocks that nobody has asked for yet: whoever asks goes first
_WHOLE = slice(None)

Pair = tuple[Slices, Slices | None]


class HeldCells:
    """A source of cells over another one, some of whose slices it holds."""

    def __init__(self, source: CellSource, grid: Grid, room_bytes: int = ROOM_BYTES) -> None:
        self._source, self._grid = source, grid
        self._most = max(1, room_bytes // (SLICES * grid.cells_per_side**2 * _CELL_BYTES))
        self._held: OrderedDict[int, Pair] = OrderedDict()
        # One read at a time: it uses all cores, and who waits for it may find what they want held by then.
        self._lock, self._reading, self._reading_ahead = threading.Lock(), threading.Lock(), threading.Lock()

    def read(self, part: Part) -> Pair:
        """Return a part, of slices that are held from now on; of more than there is room for, from the source."""
        slices = range(*part[0].indices(self._grid.slices))
        blocks = range(slices.start // SLICES, -(-slices.stop // SLICES))
        if len(blocks) > self._most:
            return self._source.read(part)
        pieces = [self._cut(block, slices, part) for block in blocks]
        if len(pieces) == 1:
            return pieces[0]
        deviations = [deviation for _, deviation in pieces if deviation is not None]
        whole = len(deviations) == len(pieces)
        return np.concatenate([counts for counts, _ in pieces]), np.concatenate(deviations) if whole else None

    def hold_all(self, stop: threading.Event) -> None:
        """Read what is not held yet, if there is room for all of it; `stop` ends it early, one thread does it."""
        blocks = -(-self._grid.slices // SLICES)
        if blocks > self._most or not self._reading_ahead.acquire(blocking=False):
            return
        try:
            for block in range(blocks):
                if stop.wait(_BREATH_SECONDS):
                    return
                self._block(block)
        finally:
            self._reading_ahead.release()

    def _cut(self, block: int, slices: range, part: Part) -> Pair:
        counts, deviation = self._block(block)
        first = block * SLICES
        index = (slice(max(slices.start - first, 0), slices.stop - first), *part[1:])
        return counts[index], None if deviation is None else deviation[index]

    def _block(self, block: int) -> Pair:
        found = self._find(block)
        if found is not None:
            return found
        with self._reading:
            return self._find(block) or self._read_block(block)

    def _find(self, block: int) -> Pair | None:
        with self._lock:
            if block in self._held:
                self._held.move_to_end(block)
            return self._held.get(block)

    def _read_block(self, block: int) -> Pair:
        first = block * SLICES
        found = self._source.read((slice(first, min(first + SLICES, self._grid.slices)), _WHOLE, _WHOLE))
        with self._lock:
            self._held[block] = found
            while len(self._held) > self._most:
                self._held.popitem(last=False)
        return found


def hold(release: Release) -> Release:
    """Return the same release, with cells that stay in memory once they were read."""
    return replace(release, cells=HeldCells(release.cells, release.grid))
