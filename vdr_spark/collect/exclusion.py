"""Before anything is reserved: is a second process kept out, and does Spark mean the same places as we do?"""

from __future__ import annotations

import posixpath

from pyspark.sql import SparkSession

from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import Plan
from vdr_spark.spark.session import require_local_paths
from vdr_spark.spark.store_settings import learn_access
from vdr_spark.storage.conditional_put import StoreUnreachable, do_without, find_proven_folder
from vdr_spark.storage.schemas import LEDGER
from vdr_spark.storage.store_access import scheme_of
from vdr_spark.storage.tables import create_if_missing, find_folder


def check_places(spark: SparkSession, plan: Plan) -> None:
    """Refuse places that a second process could write, or that Spark takes for others than we do.

    A store is tried: of several who create one object at once it must let one through (`storage.conditional_put`).
    A ledger that has a name in a catalog is made, empty, if it is not there: only then is it known where it is. All
    who write it lock a file beside it, whatever their output folders are.
    """
    plan.require_exclusion()
    learn_access(spark, plan.config.spark.conf, *plan.locations)
    respect_single_writer(plan)
    _require_conditional_puts(plan)
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


def respect_single_writer(plan: Plan) -> None:
    """Where a single writer is declared, do without conditional puts in stores that only Spark's credentials reach.

    Elsewhere a store that does not answer is an error, each time: Spark must never commit where another may, too.
    """
    if not plan.config.single_writer:
        return
    for _, place in plan.shared_places:
        if isinstance(place, str) and scheme_of(place) is not None:
            try:
                find_proven_folder(place)
            except StoreUnreachable as problem:
                do_without(place, str(problem))


def _require_conditional_puts(plan: Plan) -> None:
    """Refuse a store that was not seen to keep a second writer out, unless a person declares that there is none."""
    for setting, place in plan.shared_places:
        if not isinstance(place, str) or scheme_of(place) is None:
            continue
        found = find_proven_folder(place)
        if isinstance(found, str) and not plan.config.single_writer:
            raise InvalidConfig(
                f"{setting}: {found}. So nothing of ours can keep a second process out, and nothing was reserved or "
                "read. If no two processes ever write there at once, say so with `single_writer: true`"
            )
