"""What one pass over the slices of a tensor tells of its numbers."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from pyspark.sql import DataFrame

from vdr_spark.collect.slice_digests import DIGEST_SCHEMA, digest_slices
from vdr_spark.storage.slice_bytes import SLICE_COLUMNS
from vdr_spark.workers import in_worker


@dataclass(frozen=True)
class TensorDigest:
    """The numbers of the slices in order, the SHA-256 of what they hold, and their noisy sums, in units."""

    slices: tuple[int, ...]
    sha256: str  # of the slices' own SHA-256, one per line, in order
    sums: tuple[int, ...]


def digest_tensor(rows: DataFrame) -> TensorDigest:
    """Digest rows of `noisy_slices`, by Spark's tasks."""
    digests = rows.select(*SLICE_COLUMNS).mapInArrow(in_worker(digest_slices), DIGEST_SCHEMA)
    found = sorted((row.slice, row.sha256, row.total) for row in digests.collect())
    lines = "".join(f"{number} {sha256}\n" for number, sha256, _ in found)
    numbers, _, sums = zip(*found, strict=True) if found else ((), (), ())
    return TensorDigest(tuple(numbers), hashlib.sha256(lines.encode()).hexdigest(), tuple(sums))
