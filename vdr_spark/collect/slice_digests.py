"""SHA-256 and sum of stored noisy slices, computed where they are read: in Spark's Python workers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

DIGEST_SCHEMA = "slice int, sha256 string, total bigint"
_DIGESTS = pa.schema([("slice", pa.int32()), ("sha256", pa.string()), ("total", pa.int64())])


def digest_slices(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Digest rows `slice, counts` of `noisy_slices`: little-endian 64-bit integers, in the order of the cells."""
    for batch in batches:
        slices = [batch.column("counts")[row].values.to_numpy().astype("<i8") for row in range(batch.num_rows)]
        digests = pa.array([hashlib.sha256(counts.tobytes()).hexdigest() for counts in slices], pa.string())
        totals = pa.array([int(counts.sum(dtype=np.int64)) for counts in slices], pa.int64())
        yield pa.RecordBatch.from_arrays([batch.column("slice"), digests, totals], schema=_DIGESTS)
