"""From rows of the tensor file, one a slice, to rows of `pyramid`. Runs in Spark's Python workers.

Slices come in order, those of a day in one task: a task holds one slice and the sums of one day.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from vdr_spark.arrays import Floats, Slices
from vdr_spark.grid import Grid
from vdr_spark.pyramid import Days
from vdr_spark.release.cell_layout import cut_into_blocks
from vdr_spark.release.pyramid_sums import SCHEMA, Level, block_rows, sum_levels
from vdr_spark.sum_errors import SumErrors

_PYRAMID = pa.schema([("release_id", pa.string()), *SCHEMA])


def day_column(days: Sequence[Days]) -> str:
    """Return the SQL that gives the first slice of a slice's day; of one that is in no whole day, itself."""
    cases = "".join(
        f" WHEN slice >= {run.first} AND slice < {run.end} THEN slice - (slice - {run.first}) % {run.slices}"
        for run in days
    )
    return f"CASE{cases} ELSE slice END" if cases else "slice"


def sum_rows(
    grid: Grid, release_id: str, days: Sequence[Days], errors: SumErrors | None, protected: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function that turns rows of the tensor file, in order, into the rows of all sums over them."""
    spans = {first: run.slices for run in days for first in run.starts()}

    def expand(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        day: _Day | None = None
        for number, counts, deviation in _slices(batches, grid.cells_per_side):
            levels = list(sum_levels(counts, deviation, ()))
            levels = [replace(level, firsts=level.firsts + np.int32(number)) for level in levels]
            day = _Day(number, spans[number]) if number in spans else day
            if day is not None:
                levels += day.add(counts, deviation)
            for level in levels:
                for block in cut_into_blocks(level.side, 1, 1):
                    rows = block_rows(level, block, grid, errors, protected)
                    ids = pa.repeat(release_id, rows.num_rows)
                    yield pa.RecordBatch.from_arrays([ids, *rows.columns], schema=_PYRAMID)

    return expand


class _Day:
    """The sums of a day's slices, as they come."""

    def __init__(self, first: int, slices: int) -> None:
        self._first, self._slices, self._left = first, slices, slices
        self._sums: list[Floats] = []

    def add(self, counts: Slices, deviation: Slices | None) -> list[Level]:
        """Add one slice (1, M, M); return the levels of the day when it is whole."""
        layers = [counts.astype(np.float64)] + ([] if deviation is None else [deviation.astype(np.float64) ** 2])
        self._sums = [a + b for a, b in zip(self._sums, layers, strict=True)] if self._sums else layers
        self._left -= 1
        if self._left:
            return []
        first, span = np.array([self._first], np.int32), np.array([self._slices], np.int32)
        variances = None if deviation is None else self._sums[1]
        return list(Level(1, first, span, self._sums[0], variances).upwards(counts.shape[1]))


def _slices(batches: Iterable[pa.RecordBatch], side: int) -> Iterator[tuple[int, Slices, Slices | None]]:
    """Yield number, counts and deviation of each row, (1, M, M) each."""
    for batch in batches:
        for row in range(batch.num_rows):
            counts, deviation = (batch.column(name)[row] for name in ("counts", "deviation"))
            layers = [
                layer.values.to_numpy(zero_copy_only=False).reshape(1, side, side) if layer.is_valid else None
                for layer in (counts, deviation)
            ]
            assert layers[0] is not None
            yield batch.column("slice")[row].as_py(), layers[0], layers[1]
