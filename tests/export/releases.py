"""Small releases whose every number is known, with a zone and an epsilon that is no decimal; and a full disk."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np

from tests.release.hand_made import hand_made
from vdr_spark.grid import Box
from vdr_spark.release.release import Release

BOX = Box(29.5, -95.8, 30.1, -95.0)
STATEMENT = {"release_id": "hand-made", "exact": {"timezone": "America/Chicago"}, "words": "für alle"}


def numbered(slices: int = 3, side: int = 5, deviation: bool = True, **fields: object) -> Release:
    """A release whose counts tell their cells apart, none of them a short decimal."""
    counts = np.arange(slices * side * side, dtype=np.float32).reshape(slices, side, side) / np.float32(7)
    promise = {"epsilon": Fraction(1, 3), "statement": STATEMENT} | fields
    return hand_made(counts, counts / 10 + 1 if deviation else None, box=BOX, **promise)  # type: ignore[arg-type]


@contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    """As good as a full disk: this process can write no longer file."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
