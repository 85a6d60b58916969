"""SHA-256 and sum of stored noisy slices, computed where they are read: in Spark's Python workers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from vdr_spark.arrow_columns import to_bytes_column, to_column
from vdr_spark.storage.slice_bytes import decode_slices

DIGEST_SCHEMA = "slice int, sha256 string, total bigint"
_DIGESTS = pa.schema([("slice", pa.int32()), ("sha256", pa.string()), ("total", pa.int64())])


def digest_slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Digest rows of `noisy_slices` as little-endian 64-bit integers, whatever their width, in the order of cells."""
    for batch in batches:
        slices = [counts.astype("<i8", copy=False) for counts in decode_slices(batch)]
        digests = to_bytes_column([hashlib.sha256(counts.tobytes()).hexdigest().encode() for counts in slices])
        totals = to_column(np.array([counts.sum(dtype=np.int64) for counts in slices], dtype=np.int64))
        yield pa.RecordBatch.from_arrays([batch.column("slice"), digests.cast(pa.string()), totals], schema=_DIGESTS)
