"""GeoParquet 1.1: one row a cell, with its outline or its centre as geometry, for GIS, DuckDB and geopandas.

Row groups are tiles of one slice, and every row has its bounding box in plain columns (the `covering` of version 1.1):
a reader that wants a district or an hour skips the groups that cannot hold it, by their statistics alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vdr_spark.arrays import Floats
from vdr_spark.export.arrow_cells import CELL_FIELDS, cell_columns
from vdr_spark.export.labels import labels_of
from vdr_spark.export.part import Part, Tile
from vdr_spark.progress import Update

_TILE = 192  # 36,864 rows a group: enough to compress, few enough that one street corner does not read a city
_EDGES = ("xmin", "ymin", "xmax", "ymax")
_BBOX = pa.struct([pa.field(edge, pa.float64(), nullable=False) for edge in _EDGES])
# Well-known binary, little endian: an outline of one ring of five points, the first again at the end; and a point.
_POLYGON = np.dtype([("order", "u1"), ("type", "<u4"), ("rings", "<u4"), ("points", "<u4"), ("xy", "<f8", (5, 2))])
_POINT = np.dtype([("order", "u1"), ("type", "<u4"), ("xy", "<f8", (2,))])


@dataclass(frozen=True)
class GeoParquet:
    """Writes with the cells' outlines (`cell`), to be filled with colour, or with their middles (`centre`): smaller."""

    geometry: str

    @property
    def endings(self) -> tuple[str, ...]:
        return ".parquet", ".geoparquet"

    def companions(self, _path: Path) -> list[Path]:
        return []

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Write tile by tile."""
        fields = [*CELL_FIELDS, pa.field("bbox", _BBOX, nullable=False), pa.field("geometry", pa.binary())]
        schema = pa.schema(fields, metadata=labels_of(part) | {"geo": json.dumps(self._geo(part))})
        repeating = [name for name in _leaves(schema) if name != "geometry"]
        done = 0
        with pq.ParquetWriter(paths[0], schema, compression="zstd", use_dictionary=repeating) as writer:
            for tile in part.tiles(_TILE):
                boxes = _boxes(part, tile)
                columns = cell_columns(part, tile) | {"bbox": _bbox(boxes), "geometry": self._geometries(boxes)}
                writer.write_table(pa.table(columns, schema=schema), row_group_size=tile.size)
                done += tile.size
                update(done, part.name_slice(tile.number))

    def _geometries(self, boxes: Floats) -> pa.Array:
        return _outlines(boxes) if self.geometry == "cell" else _middles(boxes)

    def _geo(self, part: Part) -> dict[str, Any]:
        """Return the metadata that make it GeoParquet. No `crs` means OGC:CRS84: longitude and latitude on WGS 84."""
        box = part.box
        column = {
            "encoding": "WKB",
            "geometry_types": ["Polygon" if self.geometry == "cell" else "Point"],
            "orientation": "counterclockwise",
            "edges": "planar",  # the sides of a cell are parallels and meridians, not great circles
            "bbox": [box.west, box.south, box.east, box.north],
            "covering": {"bbox": {edge: ["bbox", edge] for edge in _EDGES}},
        }
        return {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}


def _leaves(schema: pa.Schema) -> list[str]:
    """Return the columns by the names that Parquet knows them by."""
    return [f"bbox.{edge}" for edge in _EDGES] + [name for name in schema.names if name != "bbox"]


def _boxes(part: Part, tile: Tile) -> Floats:
    """Return west, south, east and north of each cell of a tile. (n, 4)"""
    lat, lon = part.latitude_edges(), part.longitude_edges()
    rows = np.arange(tile.rows.start, tile.rows.stop) - part.rows.start
    columns = np.arange(tile.columns.start, tile.columns.stop) - part.columns.start
    y, x = (axis.ravel() for axis in np.meshgrid(rows, columns, indexing="ij"))
    return np.stack([lon[x], lat[y], lon[x + 1], lat[y + 1]], axis=1)


def _bbox(boxes: Floats) -> pa.Array:
    edges = [pa.array(np.ascontiguousarray(boxes[:, place])) for place in range(4)]
    return pa.StructArray.from_arrays(edges, fields=list(_BBOX))


def _outlines(boxes: Floats) -> pa.Array:
    """Return the cells as polygons, counterclockwise from the south-western corner."""
    west, south, east, north = boxes.T
    shapes = np.empty(len(boxes), dtype=_POLYGON)
    shapes["order"], shapes["type"], shapes["rings"], shapes["points"] = 1, 3, 1, 5
    corners = [(west, south), (east, south), (east, north), (west, north), (west, south)]
    shapes["xy"] = np.stack([np.stack(corner, axis=1) for corner in corners], axis=1)
    return _binary(shapes)


def _middles(boxes: Floats) -> pa.Array:
    """Return the middles of the cells as points."""
    shapes = np.empty(len(boxes), dtype=_POINT)
    shapes["order"], shapes["type"] = 1, 1
    shapes["xy"] = (boxes[:, :2] + boxes[:, 2:]) / 2
    return _binary(shapes)


def _binary(shapes: np.ndarray[tuple[int], np.dtype[np.void]]) -> pa.Array:
    """Return records of one length as Arrow's binary, without a Python object for each."""
    offsets = np.arange(len(shapes) + 1, dtype=np.int32) * np.int32(shapes.itemsize)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(shapes.tobytes())]
    return pa.Array.from_buffers(pa.binary(), len(shapes), buffers)
