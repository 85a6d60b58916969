"""From what a person wrote to what is done: `identity` (ids that last), `plan` (draws, cells, places, price)."""

from vdr_spark.plan.plan import Plan, Region, ReleasePlan, make_plan

__all__ = ["Plan", "Region", "ReleasePlan", "make_plan"]
