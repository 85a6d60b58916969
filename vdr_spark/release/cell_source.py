"""Where a release has its cells from: memory, or files of which only those are read that a question is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from vdr_spark.arrays import Slices

Part = tuple[slice, slice, slice]
"""Some slices, rows and columns of a release, without steps."""

EVERYTHING: Part = (slice(None), slice(None), slice(None))


class CellSource(Protocol):
    """Counts and, where a model gives them, deviations of parts of a release."""

    def read(self, part: Part) -> tuple[Slices, Slices | None]:
        """Return a part of the counts and of the deviations, each (slices, rows, columns)."""
        ...


@dataclass(frozen=True, eq=False)
class CellsInMemory:
    """All cells, as they are. (T, M, M) each"""

    counts: Slices
    deviation: Slices | None = None

    def read(self, part: Part) -> tuple[Slices, Slices | None]:
        return self.counts[part], None if self.deviation is None else self.deviation[part]
