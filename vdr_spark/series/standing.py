"""Reading where a series stands: the ledger and the register, on a disk without Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import StageMissing
from vdr_spark.plan import make_plan
from vdr_spark.privacy.accounting import state_of
from vdr_spark.privacy.entries import Entry
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.release.record import ReleaseRecord
from vdr_spark.release.register import Register
from vdr_spark.series.status import SeriesStatus, look
from vdr_spark.series.turn import require_correction, require_same_settings, require_turn
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def read_status(
    config: ReleaseConfig, open_spark: Callable[[], SparkSession], now: datetime | None = None
) -> tuple[SeriesStatus, list[Entry], list[ReleaseRecord]]:
    """Return where a series stands, and what that was worked out from: the ledger's entries and the register."""
    learn(config.spark.conf)
    plan = make_plan(config)
    entries = LedgerReader(plan.ledger, open_spark).entries()
    return _look(config, entries, open_spark, now)


def require_turn_of(config: ReleaseConfig, entries: Sequence[Entry], open_spark: Callable[[], SparkSession]) -> None:
    """Refuse to begin a window whose turn it is not; nothing is asked of one that is booked, or of no window."""
    if config.series is None or config.window is None:
        return
    if all(state_of(entries, draw.draw_id) is not None for draw in make_plan(config).draws):
        return
    status, _, records = _look(config, list(entries), open_spark)
    require_same_settings(status, records)
    chosen = status.find(config.window)
    if config.correction is not None:
        require_correction(status, chosen, config.correction)
    else:
        require_turn(status, chosen)


def _look(
    config: ReleaseConfig, entries: list[Entry], open_spark: Callable[[], SparkSession], now: datetime | None = None
) -> tuple[SeriesStatus, list[Entry], list[ReleaseRecord]]:
    try:
        records = Register(make_plan(config).output, open_spark).records()
    except StageMissing:  # nothing was ever published there
        records = []
    return look(config, entries, records, now or datetime.now(UTC)), entries, records
