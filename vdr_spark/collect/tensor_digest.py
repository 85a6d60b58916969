"""What one pass over the slices of a tensor tells of its numbers: by Spark's tasks, or on a disk by this process."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from vdr_spark.collect.slice_digests import DIGEST_SCHEMA, digest_slices
from vdr_spark.storage.delta_files import open_file
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS
from vdr_spark.workers import in_worker

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class TensorDigest:
    """The numbers of the slices in order, the SHA-256 of what they hold, and their noisy sums, in units."""

    slices: tuple[int, ...]
    sha256: str  # of the slices' own SHA-256, one per line, in order
    sums: tuple[int, ...]


def digest_tensor(rows: DataFrame) -> TensorDigest:
    """Digest rows of `noisy_slices`, by Spark's tasks."""
    digests = rows.select(*SLICE_COLUMNS).mapInArrow(in_worker(digest_slices), DIGEST_SCHEMA)
    return _join((row.slice, row.sha256, row.total) for row in digests.collect())


def digest_files(files: Iterable[str]) -> TensorDigest:
    """Digest Parquet files of `noisy_slices` on a disk, one slice in memory at a time."""
    return _join(
        (row["slice"], row["sha256"], row["total"])
        for file in files
        for digests in digest_slices(_read_slices(file))
        for row in digests.to_pylist()
    )


def _read_slices(file: str) -> Iterator[pa.RecordBatch]:
    with open_file(file) as parquet:
        yield from parquet.iter_batches(1, columns=list(SLICE_COLUMNS))


def _join(digests: Iterable[tuple[int, str, int]]) -> TensorDigest:
    found = sorted(digests)
    lines = "".join(f"{number} {sha256}\n" for number, sha256, _ in found)
    numbers, _, sums = zip(*found, strict=True) if found else ((), (), ())
    return TensorDigest(tuple(numbers), hashlib.sha256(lines.encode()).hexdigest(), tuple(sums))
