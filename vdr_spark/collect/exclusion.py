"""Before anything is reserved: is a second process kept out, and does Spark mean the same places as we do?"""

from __future__ import annotations

import posixpath

from pyspark.sql import SparkSession

from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import Plan
from vdr_spark.spark.session import require_local_paths
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.tables import create_if_missing, find_folder


def check_places(spark: SparkSession, plan: Plan) -> None:
    """Refuse places that a second process could write, or that Spark takes for others than we do.

    A ledger that has a name in a catalog is made, empty, if it is not there: only then is it known where it is. All
    who write it lock a file beside it, whatever their output folders are.
    """
    plan.require_exclusion()
    if not isinstance(plan.ledger.table, str):
        create_if_missing(spark, plan.ledger.table, LEDGER)
    ledger = find_folder(spark, plan.ledger.table)
    if ledger is None and not plan.config.single_writer:
        raise InvalidConfig(
            f"tables: {plan.ledger.table} must be on a disk of this machine, where a second process can be kept out by "
            "a lock, and its catalog keeps it elsewhere. If no two processes ever write there at once, say so with "
            "`single_writer: true`"
        )
    folders = [] if ledger is None else [posixpath.dirname(ledger)]
    require_local_paths(spark, *folders, plan.output.root)
