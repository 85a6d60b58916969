import threading
from dataclasses import dataclass, field

import numpy as np

from tests.explore.cities import city
from vdr_spark.arrays import Slices
from vdr_spark.explore.held_cells import HeldCells
from vdr_spark.release.cell_source import EVERYTHING, CellSource, Part

ALL = slice(None)


@dataclass
class Watched:
    """A source that knows what was read of it."""

    source: CellSource
    asked: list[Part] = field(default_factory=list)

    def read(self, part: Part) -> tuple[Slices, Slices | None]:
        self.asked.append(part)
        return self.source.read(part)


def test_what_was_read_is_not_read_again() -> None:
    release = city(slices=20)
    watched = Watched(release.cells)
    held = HeldCells(watched, release.grid)
    for part in ((slice(3, 4), ALL, ALL), (slice(0, 8), slice(2, 5), ALL), (slice(7, 8), ALL, slice(1, 2))):
        assert np.array_equal(held.read(part)[0], release.counts[part])
    assert len(watched.asked) == 1


def test_parts_across_blocks_are_put_together() -> None:
    release = city(slices=20)
    held = HeldCells(release.cells, release.grid)
    for part in (EVERYTHING, (slice(6, 19), slice(1, 4), slice(2, 9)), (slice(15, 17), ALL, ALL)):
        counts, deviation = held.read(part)
        assert np.array_equal(counts, release.counts[part])
        assert deviation is not None
        assert np.array_equal(deviation, release.deviation[part])


def test_no_error_bars_stay_none() -> None:
    release = city(slices=20, deviation=None)
    assert HeldCells(release.cells, release.grid).read(EVERYTHING)[1] is None


def test_no_more_is_held_than_there_is_room_for() -> None:
    release = city(slices=32)
    watched = Watched(release.cells)
    held = HeldCells(watched, release.grid, room_bytes=2 * 8 * 12 * 12 * 8)  # two blocks
    for number in (0, 8, 16, 0):
        held.read((slice(number, number + 1), ALL, ALL))
    assert len(watched.asked) == 4  # the first was let go
    held.read(EVERYTHING)
    assert watched.asked[-1] == EVERYTHING
    held.hold_all(threading.Event())
    assert len(watched.asked) == 5  # there is no room for all: nothing is read ahead


def test_reading_ahead_ends_when_told() -> None:
    release = city(slices=32)
    watched = Watched(release.cells)
    stop = threading.Event()
    stop.set()
    HeldCells(watched, release.grid).hold_all(stop)
    assert not watched.asked
    held = HeldCells(watched, release.grid)
    held.hold_all(threading.Event())
    held.read(EVERYTHING)
    assert len(watched.asked) == 4
