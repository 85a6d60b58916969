"""What every function that runs in Spark's Python workers is wrapped in.

Spark puts its own archives on the workers' import path, the 20 MB jar of its core among them, and before each task
has Python read the directory of every archive again: a quarter of a second of pure waiting, a task. A worker that has
begun our function has imported what it needs, so it forgets the archives, and later tasks begin at once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import wraps

import pyarrow as pa

ArrowTask = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def in_worker(task: ArrowTask) -> ArrowTask:
    """For `mapInArrow`: the task, in a worker that begins the next one without delay."""

    @wraps(task)
    def quick(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _forget_archives()
        return task(batches)

    return quick


def _forget_archives() -> None:
    """Python finds them again if it ever needs them."""
    for path in [path for path in sys.path_importer_cache if ".jar" in path or ".zip" in path]:
        sys.path_importer_cache.pop(path, None)
