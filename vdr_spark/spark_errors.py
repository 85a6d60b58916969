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
    # Of Delta's two packages: the older names are raised from places that the newer ones did not reach.
    r"(io\.delta\.exceptions|org\.apache\.spark\.sql\.delta)\."
    r"((Delta)?Concurrent\w+|MetadataChanged|ProtocolChanged)Exception"
    r"|\[DELTA_(CONCURRENT_\w+|METADATA_CHANGED|PROTOCOL_CHANGED)\b"
    # A log store that finds the file of the next commit there.
    r"|FileAlreadyExistsException: \S*/_delta_log/\d+\.json"
)
_CONFLICT_CLASS = re.compile(r"(Delta)?Concurrent\w+Exception|(Metadata|Protocol)ChangedException")


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
    # Each of them by its own name, as the version at hand has them: only some derive from the one they should.
    classes = (value for name, value in vars(exceptions).items() if _CONFLICT_CLASS.fullmatch(name))
    return tuple(value for value in classes if isinstance(value, type) and issubclass(value, Exception))


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
