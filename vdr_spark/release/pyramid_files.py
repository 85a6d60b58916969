"""Sums as Parquet files of the Delta table `pyramid`, written straight from the tensor, as the cells are.

Level by level, each in blocks of tile and time: a question reads the row groups of the level, place and time that it
is about. Files have the names of their release and place, so that a run that was killed writes them over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from vdr_spark.grid import Grid
from vdr_spark.release.cell_files import format_moment
from vdr_spark.release.cell_layout import BLOCKS_PER_FILE, SLICES, TILE, Block, cut_into_blocks
from vdr_spark.release.pyramid_sums import SCHEMA, Level, block_rows
from vdr_spark.storage.delta_files import NewFile
from vdr_spark.sum_errors import SumErrors

Piece = tuple[Level, Block]
_PLACES = ("factor", "slices", "slice", "y", "x", "lat", "lon", "count")
_OPTIONAL = ("variance", "deviation")
_REPEATING = [name for name in SCHEMA.names if name not in ("count", "variance")]  # sums hardly repeat


def write_pyramid_files(
    table: str, partition: str, grid: Grid, levels: Sequence[Level], errors: SumErrors | None, protected: bool
) -> list[NewFile]:
    """Write all sums of a release into a partition's folder of the table at a local path, several files at a time."""
    pieces = [(level, block) for level in levels for block in blocks_of_level(level)]
    groups = [pieces[start : start + BLOCKS_PER_FILE] for start in range(0, len(pieces), BLOCKS_PER_FILE)]
    Path(table, partition).mkdir(parents=True, exist_ok=True)

    def write(number: int) -> NewFile:
        name = f"{partition}/part-{number:05}.zstd.parquet"
        return _write_file(table, name, grid, (block_rows(*piece, grid, errors, protected) for piece in groups[number]))

    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy, encoding and compression leave Python alone
        return list(pool.map(write, range(len(groups))))


def blocks_of_level(level: Level) -> Iterator[Block]:
    """Yield the blocks of a level; those of a coarse one hold more slices, so that row groups stay as large."""
    tile = min(level.side, TILE)
    return cut_into_blocks(level.side, len(level.firsts), TILE * TILE * SLICES // (tile * tile))


def _write_file(table: str, name: str, grid: Grid, batches: Iterator[pa.RecordBatch]) -> NewFile:
    path = Path(table, name)
    unfinished = path.with_name(f".{path.name}.tmp")
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    nulls, rows = dict.fromkeys(SCHEMA.names, 0), 0
    with pq.ParquetWriter(
        unfinished, SCHEMA, compression="zstd", compression_level=1, use_dictionary=_REPEATING
    ) as writer:
        for batch in batches:
            writer.write_batch(batch, row_group_size=batch.num_rows)
            rows += batch.num_rows
            for column in _PLACES + _OPTIONAL:
                values = batch.column(column)
                nulls[column] += values.null_count
                ends = pc.min_max(values).as_py()
                if ends["min"] is not None:
                    least[column] = min(least.get(column, ends["min"]), ends["min"])
                    most[column] = max(most.get(column, ends["max"]), ends["max"])
    unfinished.replace(path)
    for end in (least, most):
        end["slice_start"] = format_moment(grid, end["slice"])
    found = path.stat()
    statistics = {"numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls}
    return NewFile(name, found.st_size, found.st_mtime_ns // 1_000_000, json.dumps(statistics))
