"""Spark's runtime settings: read where that is allowed, and changed for as long as a job needs them.

A platform may refuse both (serverless compute: CONFIG_NOT_AVAILABLE). What is then done without is said; whoever cannot
do without it is told, and refuses.
"""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakKeyDictionary

from pyspark.sql import SparkSession

from vdr_spark.spark_errors import SPARK_ERRORS

logger = logging.getLogger(__name__)

_said: WeakKeyDictionary[SparkSession, set[str]] = WeakKeyDictionary()


def read_setting(spark: SparkSession, key: str, default: str | None = None) -> str | None:
    """Return a setting as it applies, Spark's own default included; `default` where it is unset or not to be seen."""
    try:
        found = spark.conf.get(key)
    except SPARK_ERRORS:
        return default
    return default if found is None else found


@contextmanager
def settings_of_spark(spark: SparkSession, settings: dict[str, str]) -> Iterator[frozenset[str]]:
    """Change settings inside the block; yields the names of those that are not as wanted, and cannot be changed."""
    before: dict[str, str | None] = {}
    lacking = set()
    try:
        for key, value in settings.items():
            if not _set(spark, key, value, before) and (read_setting(spark, key) or "").lower() != value.lower():
                lacking.add(key)
        _caution(spark, lacking)
        yield frozenset(lacking)
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def _set(spark: SparkSession, key: str, value: str, before: dict[str, str | None]) -> bool:
    """Set a setting and remember what it was; False where the platform refuses."""
    try:
        old = spark.conf.get(key, None)
        spark.conf.set(key, value)
    except SPARK_ERRORS:
        return False
    before[key] = old
    return True


def _caution(spark: SparkSession, keys: set[str]) -> None:
    """Say once per session what is done without."""
    said = _said.setdefault(spark, set())
    for key in sorted(keys - said):
        said.add(key)
        logger.warning("This Spark does not let %s be set, so it stays as the platform has it.", key)


def find_local_dirs(spark: SparkSession) -> list[str]:
    """Return the folders of this machine that hold Spark's shuffle files; none where they are other machines'."""
    if not (read_setting(spark, "spark.master") or "").startswith("local"):
        return []
    return choose_local_dirs(read_setting(spark, "spark.local.dir"))


def choose_local_dirs(configured: str | None) -> list[str]:
    """Return where a session of this machine keeps shuffle files: as the environment says, or a setting, or /tmp."""
    named = os.environ.get("SPARK_LOCAL_DIRS") or configured or tempfile.gettempdir()
    return [path for path in named.split(",") if path]
