"""Whether the table `pyramid` holds each sum of a release once, equal to its cells to the last digit."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Mask
from vdr_spark.arrow_columns import to_numbers
from vdr_spark.errors import DamagedTable
from vdr_spark.release.pyramid_sums import Level
from vdr_spark.spark_versions import to_arrow
from vdr_spark.storage.catalog import Place
from vdr_spark.storage.delta_files import list_files, naming_damage, open_file
from vdr_spark.storage.paths import is_local
from vdr_spark.storage.places import OutputFolder
from vdr_spark.storage.schemas import PYRAMID
from vdr_spark.storage.tables import open_table

_COLUMNS = ("factor", "slices", "slice", "y", "x", "count")
_ROWS = 1 << 18


def check_pyramid(spark: SparkSession, folder: OutputFolder, release_id: str, levels: Sequence[Level]) -> None:
    """Compare what is in the table with sums of the cells; `DamagedTable` unless all of it is there and equal."""
    place = folder.table(PYRAMID.name)
    comparison = Comparison(levels)
    if isinstance(place, str) and is_local(place):
        with naming_damage(place), ThreadPoolExecutor(os.cpu_count()) as pool:
            holds = all(
                pool.map(lambda file: _compare_file(file, comparison), list_files(place, release_id=release_id))
            )
    else:
        rows = to_arrow(open_table(spark, place, PYRAMID).where(F.col("release_id") == release_id).select(*_COLUMNS))
        holds = comparison.holds(rows.to_batches())
    if not (holds and comparison.complete):
        raise _refusal(place, release_id)


def _compare_file(file: str, comparison: Comparison) -> bool:
    with open_file(file) as parquet:
        return comparison.holds(parquet.iter_batches(_ROWS, columns=list(_COLUMNS), use_threads=False))


class Comparison:
    """Which sums have been seen, and whether they were right."""

    def __init__(self, levels: Sequence[Level]) -> None:
        self._levels = {(level.factor, int(level.spans[0]) > 1): level for level in levels}
        self._seen: dict[tuple[int, bool], Mask] = {
            key: np.zeros(level.counts.shape, bool) for key, level in self._levels.items()
        }

    @property
    def complete(self) -> bool:
        """Whether each sum has been seen."""
        return all(bool(seen.all()) for seen in self._seen.values())

    def holds(self, batches: Iterable[pa.RecordBatch]) -> bool:
        """Whether rows are sums of these levels, equal to the last digit, none of them twice."""
        return all(self._holds(batch) for batch in batches)

    def _holds(self, batch: pa.RecordBatch) -> bool:
        factors, spans, firsts, y, x = (to_numbers(batch.column(name), np.int32) for name in _COLUMNS[:-1])
        counts = to_numbers(batch.column("count"), np.float64)
        key = factors.astype(np.int64) * 2 + (spans > 1)
        for number in np.unique(key):
            name, rows = (int(number) // 2, bool(number % 2)), key == number
            if name not in self._levels:
                return False
            level, seen = self._levels[name], self._seen[name]
            place = np.searchsorted(level.firsts, firsts[rows])
            index = (np.minimum(place, len(level.firsts) - 1), y[rows], x[rows])
            if max(index[1].max(), index[2].max()) >= level.side or min(index[1].min(), index[2].min()) < 0:
                return False
            right = (level.firsts[index[0]] == firsts[rows]) & (level.spans[index[0]] == spans[rows])
            if not (right & (level.counts[index] == counts[rows]) & ~seen[index]).all():
                return False
            seen[index] = True
        return True


def _refusal(place: Place, release_id: str) -> DamagedTable:
    return DamagedTable(
        f"{place} must hold each sum of release {release_id} once, equal to its cells, and does not; restore its files"
    )
