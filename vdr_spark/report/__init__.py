"""Pictures: `maps` draws slices, `codes` codebooks, `charts` curves and bars; `canvas` writes the file and marks it.

A picture of a release that protects nobody says so in a band along its foot; no argument leaves it out.
"""

from vdr_spark.report.charts import error_bars, forecast_plot, loss_curve
from vdr_spark.report.codes import code_picture
from vdr_spark.report.maps import day_small_multiples, slice_comparison

__all__ = ["code_picture", "day_small_multiples", "error_bars", "forecast_plot", "loss_curve", "slice_comparison"]
