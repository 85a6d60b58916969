"""PySpark's own loggers, silenced while pings are read.

When PySpark 4 makes a Python exception of one that knows its place in a query, it also logs it, words and all, to
standard error, before anybody can catch it. The words may quote a row: `The value 'anna' cannot be cast`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

_QUERY_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


@contextmanager
def mute_query_loggers() -> Iterator[None]:
    """Let PySpark log no exception of a query inside the block."""
    try:
        from pyspark.logger import PySparkLogger
    except ImportError:  # before Spark 4 it logs none
        yield
        return
    loggers = [PySparkLogger.getLogger(name) for name in _QUERY_LOGGERS]
    before = [logger.disabled for logger in loggers]
    for logger in loggers:
        logger.disabled = True
    try:
        yield
    finally:
        for logger, disabled in zip(loggers, before, strict=True):
            logger.disabled = disabled
