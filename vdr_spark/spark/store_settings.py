"""What a session knows about reaching object stores, for those who reach them without it."""

from __future__ import annotations

from pyspark.sql import SparkSession

from vdr_spark.spark.remote import is_remote
from vdr_spark.storage.store_access import hadoop_names, learn


def learn_access(spark: SparkSession, conf: dict[str, str], *locations: object) -> None:
    """Learn addresses and keys of stores from a configuration, and from the session where it is of this process.

    A remote session keeps its server's to itself: there the environment or the machine's role has to do.
    """
    learn(conf)
    names = [name for place in locations if isinstance(place, str) for name in hadoop_names(place)]
    if names and not is_remote(spark):
        hadoop = spark._jsc.hadoopConfiguration()
        learn({name: str(value) for name in names if (value := hadoop.get(name))})
