"""What a Spark session keeps or writes beside the tables, told to the operator before pings are read."""

from __future__ import annotations

import logging
from weakref import WeakSet

from pyspark.sql import SparkSession

from vdr_spark.spark.settings import read_setting

logger = logging.getLogger(__name__)
_warned: WeakSet[SparkSession] = WeakSet()


def warn_about_side_channels(spark: SparkSession) -> None:
    """Log, once per session, what it keeps or writes beside the tables: before pings are read, in notebooks too."""
    if spark not in _warned:
        _warned.add(spark)
        for caution in side_channel_cautions(spark):
            logger.warning(caution)


def side_channel_cautions(spark: SparkSession) -> list[str]:
    """Return what a session that others set up keeps or writes beside the tables, in sentences for the operator."""
    found = []
    if read_setting(spark, "spark.eventLog.enabled", "false") == "true":
        found.append("Spark keeps an event log here. It counts rows, exactly: let nobody but the operator read it.")
    if read_setting(spark, "spark.io.encryption.enabled", "false") != "true":
        found.append(
            "Spark's shuffle files are not encrypted here, and they hold exact data: set spark.io.encryption.enabled, "
            "or let nobody but the operator read Spark's local folders."
        )
    elif not _wire_is_safe(spark):
        found.append(
            "Spark sends the keys of its encrypted shuffle files to executors in the clear: set spark.authenticate and "
            "spark.network.crypto.enabled (or spark.ssl.rpc.enabled), or let nobody else be on that network."
        )
    return found


def _wire_is_safe(spark: SparkSession) -> bool:
    """Whether nobody can listen to what executors are told: all in one process, or encrypted."""
    if (read_setting(spark, "spark.master") or "").startswith("local"):
        return True
    safe = ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption", "spark.ssl.rpc.enabled")
    return any(read_setting(spark, key, "false") == "true" for key in safe)
