"""Which stages of a plan are complete, as far as can be told without reading a row: by the ledger, files and tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from vdr_spark.errors import StageMissing
from vdr_spark.plan import Plan
from vdr_spark.privacy.accounting import state_of
from vdr_spark.privacy.entries import Entry, State
from vdr_spark.release.register import Register
from vdr_spark.storage.files import exists

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def find_complete(plan: Plan, entries: Sequence[Entry], open_spark: Callable[[], SparkSession]) -> set[str]:
    """Return the stages of a release that would find their work done.

    `entries` are the ledger's; `open_spark` is called where tables cannot be looked at without it.
    """
    folders = [plan.output.work(plan.release_id(region)) for region in plan.regions]
    complete = {
        "collect": all(state_of(entries, draw.draw_id) is State.SPENT for draw in plan.draws),
        "denoise": all(exists(folder.denoised) for folder in folders),
        "refine": all(exists(folder.refined) for folder in folders),
    }
    found = {stage for stage, holds in complete.items() if holds}
    return found | {"publish"} if "refine" in found and _are_published(plan, open_spark) else found


def _are_published(plan: Plan, open_spark: Callable[[], SparkSession]) -> bool:
    register = Register(plan.output, open_spark)
    try:
        known = {record.release_id for record in register.records()}
    except StageMissing:  # nothing was ever published there
        return False
    return all(plan.release_id(region) in known for region in plan.regions)
