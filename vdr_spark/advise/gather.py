"""From a wish to advice: every source that is there is asked, and a histogram is drawn where somebody pays for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vdr_spark.advise.advice import Advice, advise
from vdr_spark.advise.sources import (
    Declared,
    Earlier,
    Known,
    find_declared,
    know_declared,
    know_earlier,
    know_histogram,
)
from vdr_spark.plan import Plan
from vdr_spark.privacy.accounting import state_of
from vdr_spark.privacy.entries import State
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True)
class Wish:
    """What somebody knows, and is willing to pay."""

    declared: Declared | None = None
    earlier: Earlier | None = None
    total: int | None = None  # about N, where it is not declared
    apart: float = 1.0  # how many times the pings of others users of half of the city have
    pay: bool = False  # have the histogram of `privacy.size_histogram` drawn, if it is not there


def give_advice(
    plan: Plan, wish: Wish, open_spark: Callable[[], SparkSession], frame: DataFrame | None = None
) -> Advice:
    """Return advice by all that is known. Spark is started for a histogram only; pings are read for a paid one only."""
    learn(plan.config.spark.conf)
    histogram = _find_histogram(plan, wish, open_spark, frame)
    total = wish.total or plan.declared_total or (round(histogram.sizes.total) if histogram else None)
    found = [histogram] if histogram else []
    if wish.earlier is not None:
        found.append(know_earlier(wish.earlier, plan))
    declared = wish.declared or find_declared(plan.config)
    if declared is not None and total is not None:
        found.append(know_declared(declared, total))
    return advise(plan, found, total, wish.apart)


def _find_histogram(
    plan: Plan, wish: Wish, open_spark: Callable[[], SparkSession], frame: DataFrame | None
) -> Known | None:
    """Return what a paid histogram says: one that is stored and booked, or one that is drawn now."""
    draw, noise = plan.sizes_draw, plan.noise_of_sizes
    if not wish.pay and (draw is None or not _is_spent(plan, open_spark)):
        return None
    from vdr_spark.collect.draws import open_draws
    from vdr_spark.collect.stage import draw_sizes

    spark = open_spark()
    draws = open_draws(spark, plan)
    if wish.pay:
        draw_sizes(spark, draws, frame)
    assert draw is not None
    assert noise is not None
    assert draws.sizes is not None
    draws.sizes.require_spent()  # booked with just these numbers, or nobody reads them
    counts = draws.find_sizes()
    assert counts is not None
    return know_histogram(counts, noise, str(draw.price), wish.total or plan.declared_total)


def _is_spent(plan: Plan, open_spark: Callable[[], SparkSession]) -> bool:
    assert plan.sizes_draw is not None
    entries = LedgerReader(plan.ledger, open_spark).entries()
    return state_of(entries, plan.sizes_draw.draw_id) is State.SPENT
