"""Released cells as Parquet files of a Delta table, written straight from the tensor: ten times as fast as by Spark.

The files are those that Delta will call live once they are committed (`storage.delta_files.append_files_once`), with
the statistics by which engines skip files. They have the names of their release and place: a run that was killed
before the commit is run again and writes the same files over.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vdr_spark.grid import Grid
from vdr_spark.release.cell_layout import BLOCKS_PER_FILE, SCHEMA, Block, blocks_of
from vdr_spark.storage.delta_files import NewFile
from vdr_spark.storage.tensor_file import Tensor


def write_cell_files(
    table: str,
    partition: str,
    grid: Grid,
    tensor: Tensor,
    protected: bool,
    told: Callable[[int], None] = lambda _: None,
) -> list[NewFile]:
    """Write all cells of a release into a partition's folder of the table at a local path, several files at a time.

    `told` hears how many cells of the release are written. Counts and deviations must be float32 as they are.
    """
    blocks = list(blocks_of(grid))
    groups = [blocks[start : start + BLOCKS_PER_FILE] for start in range(0, len(blocks), BLOCKS_PER_FILE)]
    Path(table, partition).mkdir(parents=True, exist_ok=True)
    names = [f"{partition}/part-{number:05}.zstd.parquet" for number in range(len(groups))]
    written, cells = [], 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # numpy, encoding and compression leave Python alone
        jobs = [
            pool.submit(_write_file, table, name, group, grid, tensor, protected)
            for name, group in zip(names, groups, strict=True)
        ]
        for job, group in zip(jobs, groups, strict=True):
            written.append(job.result())
            cells += sum(block.size for block in group)
            told(cells)
    return written


def _write_file(table: str, name: str, blocks: Sequence[Block], grid: Grid, tensor: Tensor, protected: bool) -> NewFile:
    path = Path(table, name)
    unfinished = path.with_name(f".{path.name}.tmp")
    # Dictionaries: in a block there are few rows, columns and slices, and of rounded numbers not many either.
    with pq.ParquetWriter(unfinished, SCHEMA, compression="zstd", compression_level=1) as writer:
        for block in blocks:
            writer.write_batch(block_rows(block, grid, tensor, protected), row_group_size=block.size)
    unfinished.replace(path)
    found = path.stat()
    return NewFile(name, found.st_size, found.st_mtime_ns // 1_000_000, json.dumps(_statistics(blocks, grid, tensor)))


def block_rows(block: Block, grid: Grid, tensor: Tensor, protected: bool) -> pa.RecordBatch:
    """Return the rows of a block's cells."""
    slices, rows, columns = block.places()
    starts = grid.start_us + slices.astype(np.int64) * grid.slice_seconds * 1_000_000
    deviation = None if tensor.deviation is None else tensor.deviation[block.index].ravel()
    values = (
        pa.array(slices),
        pa.array(starts, SCHEMA.field("slice_start").type),
        pa.array(rows),
        pa.array(columns),
        pa.array(grid.latitudes()[rows]),
        pa.array(grid.longitudes()[columns]),
        pa.array(tensor.counts[block.index].ravel()),
        pa.nulls(block.size, pa.float32()) if deviation is None else pa.array(deviation),
        pa.repeat(pa.scalar(protected), block.size),
    )
    return pa.RecordBatch.from_arrays(list(values), schema=SCHEMA)


def _statistics(blocks: Sequence[Block], grid: Grid, tensor: Tensor) -> dict[str, Any]:
    """Return what Delta keeps of a file: rows, least and largest values, nulls."""
    least, most = _extremes(blocks, grid, tensor)
    rows = sum(block.size for block in blocks)
    nulls = dict.fromkeys(SCHEMA.names, 0) | ({"deviation": rows} if tensor.deviation is None else {})
    return {"numRecords": rows, "minValues": least, "maxValues": most, "nullCount": nulls}


def _extremes(blocks: Sequence[Block], grid: Grid, tensor: Tensor) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the least and the largest values of each column that has some."""
    least: dict[str, Any] = {}
    most: dict[str, Any] = {}
    for name, axis in (("slice", "slices"), ("y", "rows"), ("x", "columns")):
        ranges = [getattr(block, axis) for block in blocks]
        least[name], most[name] = min(of[0] for of in ranges), max(of[-1] for of in ranges)
    for name, layer in (("count", tensor.counts), ("deviation", tensor.deviation)):
        if layer is not None:
            least[name] = float(min(layer[block.index].min() for block in blocks))
            most[name] = float(max(layer[block.index].max() for block in blocks))
    for end in (least, most):
        end["slice_start"] = format_moment(grid, end["slice"])
        end["lat"], end["lon"] = float(grid.latitudes()[end["y"]]), float(grid.longitudes()[end["x"]])
    return least, most


def format_moment(grid: Grid, number: int) -> str:
    """Return when a slice begins as Delta writes it: in UTC, to the millisecond."""
    return grid.slice_start(number).strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
