"""Questions to a release: `range_count`, `nearest_hotspot`, `forecast`.

Everything here reads released cells only, so it is post-processing and costs no privacy. Moments carry
their time zone: a `datetime` without one is refused, because a guess would shift the answer by hours.
"""

from vdr_spark.query.forecast import Forecast, box_series, forecast
from vdr_spark.query.hotspot import Hotspot, nearest_hotspot
from vdr_spark.query.range_count import RangeCount, range_count

__all__ = [
    "Forecast",
    "Hotspot",
    "RangeCount",
    "box_series",
    "forecast",
    "nearest_hotspot",
    "range_count",
]
