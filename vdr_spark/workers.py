"""What every function that runs in Spark's Python workers is wrapped in.

Whatever goes wrong in a task, Spark carries its text to the driver, to logs and to its UI. The words of an exception
may quote what it stumbled over, an id or a place, so only its kind and the lines of our code leave a worker.

Spark puts its own archives on the workers' import path, the 20 MB jar of its core among them, and before each task
has Python read the directory of every archive again: a quarter of a second of pure waiting per task. A worker that has
begun our function has imported what it needs, so it forgets the archives, and later tasks begin at once.
"""

from __future__ import annotations

import errno
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path

import pyarrow as pa

ArrowTask = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]


class TaskProblem(RuntimeError):
    """Raised in workers. Its text is ours and holds nothing of the data."""


def in_worker(task: ArrowTask) -> ArrowTask:
    """Wrap a task for `mapInArrow`: silent about data, in a worker that begins the next one without delay."""

    @wraps(task)
    def quick(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        _forget_archives()
        return _silent(task(batches))

    return quick


def _silent(made: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    try:
        yield from made
    except TaskProblem:
        raise
    except Exception as problem:
        raise TaskProblem(f"{_kind_of(problem)} {locate_in_code(problem)}") from None


def _kind_of(problem: Exception) -> str:
    """Name an exception, with the system's name of what was wrong (ENOSPC: the disk is full); both quote nothing."""
    symbol = errno.errorcode.get(problem.errno or 0) if isinstance(problem, OSError) else None
    return type(problem).__name__ + (f" ({symbol})" if symbol else "")


def locate_in_code(problem: Exception) -> str:
    """List the lines of code an exception went through; nothing of what they worked on."""
    frames = traceback.extract_tb(problem.__traceback__)
    return "in " + ", ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in frames)


def _forget_archives() -> None:
    """Python finds them again if it ever needs them."""
    for path in [path for path in sys.path_importer_cache if ".jar" in path or ".zip" in path]:
        sys.path_importer_cache.pop(path, None)
