"""A release against the truth: for generated cities and for those who hold the pings, never for publication.

`truth` counts the exact cells, `workloads` samples the questions, `metrics` says how wrong the answers are, and
`paper` asks as section 5 of the paper does.
Every figure here is computed from exact counts without noise, so none of it may enter a release.
"""

from vdr_spark.evaluate.metrics import Errors, compare
from vdr_spark.evaluate.workloads import HotspotQueries, RangeQueries, hotspot_queries, range_queries

__all__ = ["Errors", "HotspotQueries", "RangeQueries", "compare", "hotspot_queries", "range_queries"]
