"""The noisy tensor, read from the Parquet files of the Delta table `noisy_slices`, by Petastorm.

No Spark session and no second copy of the data is needed. What is read is already noisy, so nothing here
costs privacy; but a slice lost or read twice would spoil a release silently, so every one is accounted for.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet as pq
from fsspec.implementations.local import LocalFileSystem

from vdr_spark.arrays import Integers, Mask, Slices
from vdr_spark.denoise.petastorm_compat import make_batch_reader
from vdr_spark.errors import InvalidInput, StageMissing
from vdr_spark.grid import Grid
from vdr_spark.plan import ReleasePlan
from vdr_spark.storage.files import filesystem
from vdr_spark.storage.paths import decode_uri, is_local
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS, decode_counts


def read_region(files: Sequence[str], release: ReleasePlan) -> Slices:
    """Return the noisy counts, in pings, of the release's region. (T, M, M)"""
    noisy = read_slices(files, release.grid, release.region.first_slice, release.plan.slices)
    return noisy / np.float32(release.noise.units_per_ping)


def read_slices(files: Sequence[str], grid: Grid, first: int = 0, layers: int | None = None) -> Slices:
    """Return the noisy numbers of every cell, (T, M, M), from the table's live files: paths or percent-encoded URIs.

    Of `layers` slices that the files hold, those of all regions together, the grid's are T from `first` on.

    Each file holds slices as `storage.slice_bytes` has them, the M*M values row by row from the south.
    Refused are slices that are missing, stand twice, have another length, or are null.
    """
    if not files:
        raise StageMissing("the table noisy_slices has no files for this draw; run the collect stage first")
    tensor = np.empty((grid.slices, grid.cells_per_side**2), dtype=np.float32)  # (T, M*M)
    layers = layers or grid.slices
    seen = np.zeros(layers, dtype=np.bool_)
    with _local_copies(files) as paths:
        _check_parquet_schemas(paths, layers)
        for number, counts, width in _rows(paths, rows=layers):
            _check_number(number, seen)
            seen[int(number)] = True
            if first <= number < first + grid.slices:
                tensor[int(number) - first] = _decode(number, counts, width, grid)
    return tensor.reshape(grid.shape)


@contextmanager
def _local_copies(files: Sequence[str]) -> Iterator[list[str]]:
    """Give the files plain local names: links to local ones, copies of those in an object store.

    Petastorm takes URLs apart without decoding them, cuts them at `#` and `?`, and may read columns out of folder
    names such as `draw_id=...`; and what it is given in place of pyarrow's old file systems knows local files only.
    Plain names avoid all that.
    """
    with tempfile.TemporaryDirectory(prefix="vdr-slices-") as folder:
        names = [os.path.join(folder, f"{number:05d}.parquet") for number in range(len(files))]
        for file, name in zip(files, names, strict=True):
            fs, inside = filesystem(file if is_local(file) else decode_uri(file))
            if not fs.isfile(inside):
                raise InvalidInput(f"the table noisy_slices names a file that is not there: {file}")
            if isinstance(fs, LocalFileSystem):
                os.symlink(os.path.abspath(inside), name)
            else:
                fs.get_file(inside, name)
        yield names


def _check_parquet_schemas(paths: Sequence[str], layers: int) -> None:
    """Refuse, before any row is read, damaged files, other columns, and another number of rows."""
    rows = 0
    for path in paths:
        try:
            metadata = pq.read_metadata(path)
        except (pyarrow.ArrowException, OSError) as problem:
            raise InvalidInput(f"a file of noisy_slices is damaged: {problem}") from None
        missing = set(SLICE_COLUMNS) - set(metadata.schema.to_arrow_schema().names)
        if missing:
            raise InvalidInput(f"a file of noisy_slices lacks the columns {', '.join(sorted(missing))}")
        rows += metadata.num_rows
    if rows != layers:
        raise InvalidInput(f"noisy_slices must hold {layers} rows, one per slice, but holds {rows}")


def _rows(paths: Sequence[str], rows: int) -> Iterator[tuple[float, bytes | None, float]]:
    """Yield number, counts and width of one slice after the other, until `rows` rows have come; null is NaN or None.

    Petastorm's pools notice the end of an epoch by a race between two threads: the thread pool may lose the
    last row groups silently, the pool without threads may wait for ever. So no epoch ends here: the reader
    would go round and round, and is stopped after the rows that the files' metadata promise. A lost row group then
    shows as a slice that comes twice.
    """
    urls = [f"file://{path}" for path in paths]
    with make_batch_reader(
        urls, list(SLICE_COLUMNS), reader_pool_type="dummy", shuffle_row_groups=False, num_epochs=None
    ) as reader:
        while rows > 0:
            batch = _next_batch(reader)
            rows -= len(batch.slice)
            # By name: their order changes from run to run.
            yield from zip(batch.slice, batch.counts, batch.bytes_per_count, strict=True)


def _next_batch(reader: Any) -> Any:
    try:
        return next(reader)
    except (pyarrow.ArrowException, OSError) as problem:
        raise InvalidInput(f"a file of noisy_slices is damaged: {problem}") from None


def _check_number(number: float, seen: Mask) -> None:
    if not 0 <= number < len(seen):  # also refuses NaN, which is what null became
        raise InvalidInput(f"noisy_slices holds slice {number}, but the grid has 0 .. {len(seen) - 1}")
    if seen[int(number)]:
        raise InvalidInput(f"noisy_slices holds slice {number} twice, so another one is missing")


def _decode(number: float, counts: bytes | None, width: float, grid: Grid) -> Integers:
    """Return the counts of a slice, (M*M,), or refuse what is no slice of this grid."""
    try:
        decoded = decode_counts(counts, int(width)) if isinstance(counts, bytes) else None
    except ValueError:  # bytes that are no whole numbers, or a width that is none
        decoded = None
    if decoded is None:
        raise InvalidInput(f"slice {number} of noisy_slices is null, or not made of whole numbers; collect again")
    if decoded.size != grid.cells_per_side**2:
        raise InvalidInput(
            f"slice {number} of noisy_slices has {decoded.size} values, but the grid has "
            f"{grid.cells_per_side} x {grid.cells_per_side} = {grid.cells_per_side**2} cells"
        )
    return decoded
