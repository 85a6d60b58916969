"""The exact figures, read by Spark: one pass over all rows, one over the users of those inside. Written nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from vdr_spark.arrays import Integers
from vdr_spark.collect.failures import describe_failure
from vdr_spark.errors import VdrError
from vdr_spark.pings.layouts import CANONICAL
from vdr_spark.pings.readers import (
    OpenedPings,
    canonical_columns,
    open_pings,
    reading_settings,
    stored_columns,
)
from vdr_spark.plan import Plan
from vdr_spark.spark.grid_columns import in_box_column, in_period_column
from vdr_spark.spark.query_loggers import mute_query_loggers
from vdr_spark.spark.settings import settings_of_spark
from vdr_spark.spark_versions import to_arrow

_MEDIAN_ACCURACY = 1000  # of the median time: within a thousandth of the ranks


@dataclass(frozen=True)
class ColumnFigures:
    """Of one of our columns: how it is stored, and in how many rows it is null or cannot be read."""

    name: str  # theirs
    kind: str  # the type, in Spark's words
    null: int
    unreadable: int


@dataclass(frozen=True)
class TimeRange:
    """The readable times of all rows, in microseconds since 1970 (UTC)."""

    first_us: int
    median_us: int
    last_us: int


@dataclass(frozen=True)
class PingsPerUser:
    """How many users have how many pings inside box and period: a histogram, so that any k can be asked about."""

    pings: Integers  # (s,) different numbers of pings, ascending
    users: Integers  # (s,) users with that many

    @property
    def total_users(self) -> int:
        return int(self.users.sum())

    @property
    def most(self) -> int:
        return int(self.pings[-1]) if len(self.pings) else 0

    def percentile(self, share: float) -> int:
        """Return the smallest number of pings that at least this share of users does not exceed; 0 without users."""
        if not len(self.pings):
            return 0
        reached = np.searchsorted(np.cumsum(self.users), share * self.total_users)
        return int(self.pings[min(int(reached), len(self.pings) - 1)])

    def kept(self, k: int) -> int:
        """Return n, the pings that are left when each user keeps at most k."""
        return int((np.minimum(self.pings, k) * self.users).sum())


@dataclass(frozen=True)
class Measured:
    """What the pings are like, exactly. NOT private."""

    rows: int
    in_box: int  # of any region
    in_period: int
    pings: int  # N: rows with a user inside box and period, which are those that `collect` counts
    by_region: dict[str, int]  # the same by region, where there are several
    columns: dict[str, ColumnFigures]  # by our names
    otherwise: dict[str, int]  # rows that would lie in the box if their degrees were read in another way
    times: TimeRange | None  # None: no row has a readable time
    per_user: PingsPerUser


def measure(spark: SparkSession, plan: Plan, frame: DataFrame | None = None) -> Measured:
    """Read all pings twice, once for the rows and once for the users, and return what they are like."""
    settings = plan.config.input
    try:
        with mute_query_loggers(), settings_of_spark(spark, reading_settings(settings)):
            opened = open_pings(spark, settings, frame)
            rows = _select_rows(opened, canonical_columns(opened, settings))
            return _measure(rows, opened, plan)
    except VdrError:
        raise
    except Exception as problem:  # of whatever kind: its words, or those of what it came after, may quote a row
        raise describe_failure(problem, settings) from None


def _select_rows(opened: OpenedPings, columns: Mapping[str, Column]) -> DataFrame:
    """Return every row, also without a user, with marks for what was null as it was stored."""
    nulls = (column.isNull().alias(f"{ours}_null") for ours, column in stored_columns(opened).items())
    return opened.stored.select(*(column.alias(ours) for ours, column in columns.items()), *nulls)


def _measure(rows: DataFrame, opened: OpenedPings, plan: Plan) -> Measured:
    (row,) = rows.agg(*(column.alias(name) for name, column in _aggregates(plan).items())).collect()
    figures: dict[str, Any] = row.asDict()
    return Measured(
        rows=figures["rows"],
        in_box=figures["in_box"],
        in_period=figures["in_period"],
        pings=figures["pings"],
        by_region={region.name: figures[f"region_{region.first_slice}"] for region in plan.regions if region.name},
        columns={
            ours: ColumnFigures(
                theirs.name, theirs.dataType.simpleString(), figures[f"{ours}_null"], figures[f"{ours}_unreadable"]
            )
            for ours, theirs in opened.columns.items()
        },
        otherwise={name: figures[f"otherwise_{name}"] for name in _other_readings()},
        times=None
        if figures["first_us"] is None
        else TimeRange(figures["first_us"], figures["median_us"], figures["last_us"]),
        per_user=_count_per_user(rows.where(_is_ping(plan))),
    )


def _aggregates(plan: Plan) -> dict[str, Column]:
    """Return all figures of the first pass, by name."""
    lat, lon, ts = F.col("lat"), F.col("lon"), F.col("ts")
    micros, grid = F.unix_micros(ts), plan.grids[0]  # all regions have one period
    return {
        "rows": F.count(F.lit(1)),
        "in_box": _count_rows(_in_a_box(plan, lat, lon)),
        "in_period": _count_rows(in_period_column(grid, ts)),
        "pings": _count_rows(_is_ping(plan)),
        **{
            f"region_{region.first_slice}": _count_rows(
                _has_user() & in_box_column(region.grid, lat, lon) & in_period_column(grid, ts)
            )
            for region in plan.regions
            if region.name
        },
        **{f"{ours}_null": _count_rows(F.col(f"{ours}_null")) for ours in CANONICAL},
        **{f"{ours}_unreadable": _count_rows(~F.col(f"{ours}_null") & _is_unreadable(ours)) for ours in CANONICAL},
        **{f"otherwise_{name}": _count_rows(_in_a_box(plan, *place)) for name, place in _other_readings().items()},
        "first_us": F.min(micros),
        "median_us": F.percentile_approx(micros, 0.5, _MEDIAN_ACCURACY),
        "last_us": F.max(micros),
    }


def _count_rows(condition: Column) -> Column:
    """Count the rows for which a condition holds; where it is null, it does not."""
    return F.count(F.when(condition, 1))


def _has_user() -> Column:
    return F.col("user_id").isNotNull()


def _in_a_box(plan: Plan, lat: Column, lon: Column) -> Column:
    return reduce(or_, (in_box_column(grid, lat, lon) for grid in plan.grids))


def _is_ping(plan: Plan) -> Column:
    inside = _in_a_box(plan, F.col("lat"), F.col("lon"))
    return _has_user() & inside & in_period_column(plan.grids[0], F.col("ts"))


def _is_unreadable(ours: str) -> Column:
    """Whether a value that is there is none to us: a word for a number, NaN, a time outside the years 1 to 9999."""
    column = F.col(ours)
    return column.isNull() | F.isnan(column) if ours in ("lat", "lon") else column.isNull()


def _other_readings() -> dict[str, tuple[Column, Column]]:
    """Return what latitude and longitude might have been meant as, by name."""
    lat, lon = F.col("lat"), F.col("lon")
    return {
        "swapped": (lon, lat),
        "longitude_mirrored": (lat, -lon),
        "latitude_mirrored": (-lat, lon),
        "millionths": (lat / 1_000_000, lon / 1_000_000),
    }


def _count_per_user(pings: DataFrame) -> PingsPerUser:
    """Count pings by user, then users by their number of pings: what comes to the driver knows no id."""
    sizes = pings.groupBy("user_id").agg(F.count(F.lit(1)).alias("pings"))
    table = to_arrow(sizes.groupBy("pings").agg(F.count(F.lit(1)).alias("users")).orderBy("pings"))
    return PingsPerUser(table.column("pings").to_numpy(), table.column("users").to_numpy())
