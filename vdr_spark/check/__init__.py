"""A look at the pings before any epsilon is spent: do they fit the configuration? NOT private, and kept nowhere.

`measure` reads the exact pings by Spark, `hints` says in sentences what looks wrong, `report` is what is shown.
"""

from vdr_spark.check.check import check
from vdr_spark.check.report import CheckReport

__all__ = ["CheckReport", "check"]
