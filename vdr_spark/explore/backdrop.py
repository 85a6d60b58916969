"""Lines behind the density, from a GeoJSON file that the user brings: coast, streets, borders.

Nothing of the file but its lines reaches the page: no names, no properties. They go as floats in the release's box,
0 to 1 from west to east and from south to north.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vdr_spark.errors import InvalidInput
from vdr_spark.grid import Box

MOST_BYTES = 100_000_000
_DEPTH = {"LineString": 1, "MultiLineString": 2, "Polygon": 2, "MultiPolygon": 3}

Line = NDArray[np.float64]  # (points, 2): longitude, latitude


def read_lines(path: Path) -> list[Line]:
    """Read the lines of a GeoJSON file; `InvalidInput` where it is none, or too large."""
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            raise InvalidInput(
                f"--backdrop must have at most {MOST_BYTES // 10**6} MB, not {size // 10**6}; simplify it"
            )
        found = json.loads(path.read_bytes())
        lines = [np.asarray(line, np.float64)[:, :2] for line in _lines(found)]
    except OSError as problem:
        raise InvalidInput(f"--backdrop must be a file that can be read, not {path}: {problem.strerror}") from None
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        raise InvalidInput(
            f"--backdrop must be GeoJSON with lines or polygons in degrees, and {path} is not; convert it, for example "
            "by ogr2ogr -f GeoJSON -t_srs EPSG:4326"
        ) from None
    if not lines or not all(np.isfinite(line).all() for line in lines):
        raise InvalidInput(f"--backdrop must hold lines or polygons, and {path} has none that can be drawn")
    return lines


def _lines(thing: dict[str, Any]) -> Iterator[list[list[float]]]:
    kind = thing["type"]
    if kind == "FeatureCollection":
        yield from chain.from_iterable(map(_lines, thing["features"]))
    elif kind == "Feature" and thing["geometry"] is not None:
        yield from _lines(thing["geometry"])
    elif kind == "GeometryCollection":
        yield from chain.from_iterable(map(_lines, thing["geometries"]))
    elif kind in _DEPTH:
        lines = [thing["coordinates"]]
        for _ in range(_DEPTH[kind] - 1):
            lines = list(chain.from_iterable(lines))
        yield from (line for line in lines if len(line) > 1)


def pack_lines(lines: list[Line], box: Box) -> bytes:
    """Return lines that touch the box as bytes: how many, how long each is, then their points as floats."""
    scale = np.array([box.east - box.west, box.north - box.south])
    placed = [(line - [box.west, box.south]) / scale for line in lines]
    near = [line for line in placed if (line.max(axis=0) >= -0.5).all() and (line.min(axis=0) <= 1.5).all()]
    header = struct.pack("<I", len(near)) + np.array([len(line) for line in near], "<u4").tobytes()
    return header + b"".join(line.astype("<f4").tobytes() for line in near)
