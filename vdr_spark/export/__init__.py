"""A release as files that other people's tools open: GeoParquet, GeoTIFF, Zarr, CSV, and sums over H3 hexagons.

`export` is the order of events, `formats` knows the writers by name. A writer (`geoparquet`, `geotiff`, `zarr_store`,
`csv_cells`, `hexagons`) is handed a `part` of a release and says in the file what was promised (`labels`); `whole` sees
to it that a file is there whole or not at all. Everything is computed from released cells alone and costs no privacy.
"""

from vdr_spark.export.export import export_release
from vdr_spark.export.formats import FORMATS

__all__ = ["FORMATS", "export_release"]
