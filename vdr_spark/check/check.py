"""Checking pings against a plan: measure, then look for what is wrong. Nothing is written, logged or booked."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from vdr_spark.check.hints import find_hints
from vdr_spark.check.measure import measure
from vdr_spark.check.report import CheckReport
from vdr_spark.plan import Plan


def check(spark: SparkSession, plan: Plan, frame: DataFrame | None = None) -> CheckReport:
    """Compare the exact pings with what a configuration says of them. The result is NOT differentially private.

    It is for the operator, who holds the pings: it is returned to the caller and goes nowhere else. `frame` holds the
    pings where `input.dataframe` names them.
    """
    measured = measure(spark, plan, frame)
    return CheckReport(plan, measured, tuple(find_hints(plan, measured)))
