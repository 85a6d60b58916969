"""Questions to a release: `range_count`, `range_counts`, `nearest_hotspot`, `nearest_dense_hotspot` (the
paper's), `nearest_dense_hotspots` (many at once), `forecast`, `box_series`.

Everything here reads released cells only, so it is post-processing and costs no privacy. Moments carry
their time zone: a `datetime` without one is refused, because a guess would shift the answer by hours.
A `Release` answers the same questions as methods. It knows its time zone, so there a moment without one is read in
that, and answers are given in it.
"""

from vdr_spark.query.answer import Answer
from vdr_spark.query.dense_hotspot import DenseHotspot, nearest_dense_hotspot, nearest_dense_hotspots
from vdr_spark.query.forecast import METHODS, Forecast, forecast
from vdr_spark.query.hotspot import Hotspot, nearest_hotspot
from vdr_spark.query.range_count import RangeCount, range_count
from vdr_spark.query.range_counts import RangeCounts, range_counts
from vdr_spark.query.series import box_series

__all__ = [
    "METHODS",
    "Answer",
    "DenseHotspot",
    "Forecast",
    "Hotspot",
    "RangeCount",
    "RangeCounts",
    "box_series",
    "forecast",
    "nearest_dense_hotspot",
    "nearest_dense_hotspots",
    "nearest_hotspot",
    "range_count",
    "range_counts",
]
