"""What SQL has to know of a release: its id, grid, zone and errors of sums, and whether its pyramid is there."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import tzinfo
from functools import cached_property

from vdr_spark.grid import Grid
from vdr_spark.pyramid import Days, blocks_along, days_of, factors_of
from vdr_spark.sum_errors import SumErrors

# Levels that questions use. Row groups hold tiles of 64 x 64 cells or squares, so that a rim of one square is read like
# one of many: more levels would save nothing, and each costs an engine a scan to plan.
_LEVELS = (16, 256)
_MANY = 128  # squares a side: fewer are read at once, and need none above them


@dataclass(frozen=True)
class Subject:
    """A release as SQL asks it."""

    release_id: str
    grid: Grid
    zone: tzinfo
    errors: SumErrors | None
    pyramid: bool  # false: published before there was one, and answered from its cells alone
    protected: bool = True

    @property
    def factors(self) -> list[int]:
        """The levels of the pyramid that questions use."""
        side = self.grid.cells_per_side
        finest, *above = _LEVELS
        asked = [finest, *(factor for factor in above if blocks_along(side, finest) > _MANY)]
        return [factor for factor in asked if self.pyramid and factor in factors_of(side)]

    @cached_property
    def days(self) -> list[Days]:
        """The days that have sums of their own."""
        return days_of(self.grid, self.zone) if self.pyramid else []

    @cached_property
    def clocks(self) -> list[tuple[int, int]]:
        """First slice and seconds since 1970 by local clocks at slice 0, for each offset from UTC in the period."""
        found: list[tuple[int, int]] = []
        for number in range(self.grid.slices):
            offset = self.grid.slice_start(number).astimezone(self.zone).utcoffset()
            assert offset is not None
            local = self.grid.start_us // 1_000_000 + int(offset.total_seconds())
            if not found or found[-1][1] != local:
                found.append((number, local))
        return found
