"""The shape of the pyramid over a grid: which squares of cells, and which days, have sums of their own.

Squares of 2, 4, 8, ... cells a side lie one beside the other from the south-western corner. At the northern and eastern
edges they hold what there is of the grid. Days are those of the release's zone that lie in its period as a whole and
begin and end where slices do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from vdr_spark.grid import Grid


@dataclass(frozen=True)
class Days:
    """Days in a row, of as many slices each, from the slice `first` on."""

    first: int
    slices: int  # of a day
    number: int

    @property
    def end(self) -> int:
        """The first slice after them."""
        return self.first + self.slices * self.number

    def starts(self) -> range:
        """The first slice of each day."""
        return range(self.first, self.end, self.slices)


def factors_of(side: int) -> list[int]:
    """Return how many cells a side the squares have: 2, 4, 8, ..., as long as one does not hold the whole grid."""
    return [1 << power for power in range(1, side.bit_length()) if 1 << power < side]


def blocks_along(side: int, factor: int) -> int:
    """Return how many squares lie along one side of the grid, an uneven one at the end included."""
    return -(-side // factor)


def days_of(grid: Grid, zone: tzinfo) -> list[Days]:
    """Return the days that have sums, those of one length that follow each other together; none of a single slice."""
    runs: list[Days] = []
    for first, slices in _whole_days(grid, zone):
        if runs and runs[-1].end == first and runs[-1].slices == slices:
            runs[-1] = Days(runs[-1].first, slices, runs[-1].number + 1)
        elif slices > 1:
            runs.append(Days(first, slices, 1))
    return runs


def _whole_days(grid: Grid, zone: tzinfo) -> Iterator[tuple[int, int]]:
    """Yield first slice and number of slices of the days whose midnights are edges of slices."""
    day = grid.start.astimezone(zone).date()
    start = _midnight(day, zone)
    while start < grid.end:
        day += timedelta(days=1)
        end = _midnight(day, zone)
        first, rest = divmod((start - grid.start).total_seconds(), grid.slice_seconds)
        last, more = divmod((end - grid.start).total_seconds(), grid.slice_seconds)
        if first >= 0 and end <= grid.end and not rest and not more:
            yield int(first), int(last - first)
        start = end


def _midnight(day: date, zone: tzinfo) -> datetime:
    return datetime.combine(day, time(), zone).astimezone(UTC)
