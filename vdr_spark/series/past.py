"""Which earlier windows may serve as evidence for one: those that are stored, booked as spent, and not withdrawn."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from pyspark.sql import SparkSession

from vdr_spark.collect.draws import Draws, open_draws
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import another_window
from vdr_spark.denoise.past.window import PastWindow
from vdr_spark.plan import Plan, make_plan
from vdr_spark.release.register import find_withdrawn

logger = logging.getLogger(__name__)


def find_past(spark: SparkSession, config: ReleaseConfig) -> list[list[PastWindow]]:
    """Return the earlier windows of each region, in the order of the plan's regions, the oldest window first.

    Only noisy tensors are looked at, through the gate that every stage passes; so this is post-processing. A tensor
    that is not there any more is left out; one that the ledger contradicts is refused.
    """
    found = [*_stored(spark, config)][::-1]
    regions = range(len(config.boxes))
    return [[PastWindow(tuple(draws.cells.files()), draws.releases()[r]) for draws in found] for r in regions]


def _stored(spark: SparkSession, config: ReleaseConfig) -> Iterator[Draws]:
    """Yield what is stored of earlier windows, the latest first, as many as the series allows."""
    settings = config.series
    if settings is None or config.window is None:
        return
    calendar = settings.calendar(config.period.timezone)
    number = calendar.named(config.window).number
    skipped = {window.number for window in settings.skipped(calendar.zone)}
    for earlier in range(number - 1, max(-1, number - 1 - settings.past), -1):
        if earlier in skipped:
            continue
        name = calendar.window(earlier).name
        plan = make_plan(another_window(config, name))
        draws = open_draws(spark, plan)
        if not draws.cells.is_stored() or _is_withdrawn(plan, spark):
            logger.info("denoise: window %s is not there, and does not serve as evidence", name)
            continue
        draws.require_spent()
        yield draws


def _is_withdrawn(plan: Plan, spark: SparkSession) -> bool:
    return len(find_withdrawn(plan, lambda: spark)) == len(plan.regions)
