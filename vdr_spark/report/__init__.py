"""Pictures: `maps` plots slices, `release_maps` all maps of a release, `codes` codebooks, `charts` curves and bars.

`canvas` renders and marks them.

A picture of a release that protects nobody says so in a band along its foot; no argument leaves it out.
"""

from vdr_spark.report.charts import plot_errors, plot_forecast, plot_training
from vdr_spark.report.codes import plot_codes
from vdr_spark.report.maps import plot_day, plot_slices
from vdr_spark.report.release_maps import draw_release

__all__ = ["draw_release", "plot_codes", "plot_day", "plot_errors", "plot_forecast", "plot_slices", "plot_training"]
