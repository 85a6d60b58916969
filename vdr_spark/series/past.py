"""Which earlier windows may serve as evidence for one: those that are stored, booked as spent, and not withdrawn."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence

from pyspark.sql import SparkSession

from vdr_spark.collect.draws import Draws, open_draws
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.windowed import another_window
from vdr_spark.denoise.past.window import PastWindow
from vdr_spark.errors import StageMissing
from vdr_spark.plan import Plan, Region, make_plan
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.release.register import Register

logger = logging.getLogger(__name__)


def find_past(spark: SparkSession, config: ReleaseConfig) -> list[list[PastWindow]]:
    """Return the earlier windows of each region, in the order of the plan's regions, the oldest window first.

    Only noisy tensors are looked at, through the gate that every stage passes; so this is post-processing. A tensor
    that is not there any more is left out; one that the ledger contradicts is refused.
    """
    regions = make_plan(config).regions
    if config.series is None or config.window is None:
        return [[] for _ in regions]
    records = _read_records(spark, config)
    stored = [*_stored(spark, config, records)][::-1]
    return [
        [
            PastWindow(tuple(draws.cells.files()), draws.releases()[place])
            for draws in stored
            if not _is_withdrawn(records, draws.plan, region)
        ]
        for place, region in enumerate(regions)
    ]


def _stored(spark: SparkSession, config: ReleaseConfig, records: Sequence[ReleaseRecord]) -> Iterator[Draws]:
    """Yield what is stored of earlier windows, the latest first, as many as the series allows."""
    settings = config.series
    assert settings is not None
    calendar = settings.calendar(config.period.timezone)
    number = calendar.named(str(config.window)).number
    skipped = {window.number for window in settings.skipped(calendar.zone)}
    for earlier in range(number - 1, max(-1, number - 1 - settings.past), -1):
        if earlier in skipped:
            continue
        name = calendar.window(earlier).name
        plan = make_plan(another_window(config, name))
        draws = open_draws(spark, plan)
        if not draws.cells.is_stored() or all(_is_withdrawn(records, plan, region) for region in plan.regions):
            logger.info("denoise: window %s is not there, and does not serve as evidence", name)
            continue
        draws.require_spent()
        yield draws


def _read_records(spark: SparkSession, config: ReleaseConfig) -> list[ReleaseRecord]:
    try:
        return Register(make_plan(config).output, lambda: spark).records()
    except StageMissing:  # nothing was ever published there
        return []


def _is_withdrawn(records: Sequence[ReleaseRecord], plan: Plan, region: Region) -> bool:
    """Whether all that was published of a plan's draw in a region was withdrawn, however it was denoised."""
    draw = f"{plan.cells_draw.draw_id}-"
    own = [one for one in records if one.release_id.startswith(draw) and one.region == region.name]
    return bool(own) and all(one.withdrawal is not None for one in own)
