"""Which exceptions Spark raises, of a session in this process and of a remote one (Spark Connect): the one place.

A session of this process speaks by py4j, a remote one by gRPC, and what is not an exception of PySpark's own comes
under other names from each. Where one of the two is not installed, its exceptions cannot come either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from vdr_spark.spark_versions import import_delta_exceptions

_CONFLICT = re.compile(
    r"io\.delta\.exceptions\.(Concurrent\w+|MetadataChanged|ProtocolChanged)Exception"
    r"|\[DELTA_(CONCURRENT_\w+|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
)


def _errors_of_py4j() -> tuple[type[Exception], ...]:
    try:
        from py4j.protocol import Py4JJavaError
    except ImportError:  # a client of remote sessions only
        return ()
    return (Py4JJavaError,)


def _errors_of_delta() -> tuple[type[Exception], ...]:
    """Return what Delta raises in the one of two writers that came second. In Python they have no common base class."""
    try:
        exceptions = import_delta_exceptions()
    except ImportError:  # as above; and a runtime may have Delta without its Python package
        return ()
    return (
        exceptions.DeltaConcurrentModificationException,
        exceptions.ConcurrentAppendException,
        exceptions.ConcurrentTransactionException,
        exceptions.ConcurrentWriteException,
        exceptions.MetadataChangedException,
        exceptions.ProtocolChangedException,
    )


SPARK_ERRORS: tuple[type[Exception], ...] = (PySparkException, *_errors_of_py4j())
"""Everything by which Spark says that something went wrong."""

COMMIT_CONFLICTS = _errors_of_delta()
"""Delta's conflicts by class, as a session of this process raises them."""


@contextmanager
def pass_over_conflicts() -> Iterator[None]:
    """Pass over what Delta raises in the one of two writers that came second; the table says who was first."""
    try:
        yield
    except COMMIT_CONFLICTS:
        pass
    except SPARK_ERRORS as problem:
        if not is_conflict(problem):
            raise


def is_conflict(problem: Exception) -> bool:
    """Whether another writer came first. A remote session names Delta's exception in its words, and not by a class."""
    return isinstance(problem, COMMIT_CONFLICTS) or _CONFLICT.search(str(problem)) is not None
