"""Figures of pings made by hand, and a plan to compare them with."""

from dataclasses import replace

import numpy as np

from vdr_spark.check.measure import ColumnFigures, Measured, PingsPerUser, TimeRange
from vdr_spark.config import ReleaseConfig
from vdr_spark.plan import Plan, make_plan

READINGS = ("swapped", "longitude_mirrored", "latitude_mirrored", "millionths")


def plan_of(config: ReleaseConfig) -> Plan:
    return make_plan(config)


def fitting(plan: Plan, **changes: object) -> Measured:
    """Ten thousand rows of the small city that fit its configuration: 6000 pings of 300 users inside both."""
    grid = plan.grids[0]
    kinds = {"user_id": "string", "lat": "double", "lon": "double", "ts": "timestamp"}
    measured = Measured(
        rows=10_000,
        in_box=8000,
        in_period=7000,
        pings=6000,
        by_region={},
        columns={name: ColumnFigures(name, kind, 0, 0) for name, kind in kinds.items()},
        otherwise=dict.fromkeys(READINGS, 0),
        times=TimeRange(grid.start_us - 10**12, (grid.start_us + grid.end_us) // 2, grid.end_us + 10**12),
        per_user=PingsPerUser(np.array([10, 20, 40]), np.array([150, 75, 75])),
    )
    return replace(measured, **changes)  # type: ignore[arg-type]
