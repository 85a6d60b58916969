"""The formats by name, and which options go with them.

A writer's module imports the library that it writes with, so a missing one is told before a release is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from vdr_spark.errors import InvalidExport
from vdr_spark.export.part import Part
from vdr_spark.progress import Update

FORMATS = ("geoparquet", "geotiff", "zarr", "csv", "h3")
GEOMETRIES = ("cell", "centre")


class Writer(Protocol):
    """Somebody who writes a part of a release in one format."""

    @property
    def endings(self) -> tuple[str, ...]:
        """How a path may end."""
        ...

    def companions(self, path: Path) -> list[Path]:
        """Return the files that may come to lie beside a path."""
        ...

    def write(self, part: Part, paths: Sequence[Path], update: Update) -> None:
        """Write to a path and its companions, which are not there yet; tell `update` how many cells are done."""
        ...


def open_writer(name: str, geometry: str | None = None, resolution: int | None = None) -> Writer:
    """Return the writer of a format; refuse what is unknown, and options of another format."""
    if name not in FORMATS:
        raise InvalidExport(f"format must be one of {', '.join(FORMATS)}, not {name!r}")
    for option, value, of in (("geometry", geometry, "geoparquet"), ("resolution", resolution, "h3")):
        if value is not None and name != of:
            raise InvalidExport(f"{option} goes with the format {of}, not with {name}; leave it out")
    if geometry not in (None, *GEOMETRIES):
        raise InvalidExport(f"geometry must be one of {', '.join(GEOMETRIES)}, not {geometry!r}")
    if resolution is not None and not 0 <= resolution <= 15:
        raise InvalidExport(f"resolution must be one of H3's, 0 (coarse) to 15 (fine), not {resolution}")
    return _writer(name, geometry or "cell", 8 if resolution is None else resolution)


def _writer(name: str, geometry: str, resolution: int) -> Writer:
    match name:
        case "geoparquet":
            from vdr_spark.export.geoparquet import GeoParquet

            return GeoParquet(geometry)
        case "geotiff":
            from vdr_spark.export.geotiff import GeoTiff

            return GeoTiff()
        case "zarr":
            from vdr_spark.export.zarr_store import ZarrStore

            return ZarrStore()
        case "h3":
            from vdr_spark.export.hexagons import Hexagons

            return Hexagons(resolution)
    from vdr_spark.export.csv_cells import CsvCells

    return CsvCells()


def places_of(writer: Writer, path: str | Path) -> list[Path]:
    """Return the path and its companions, which the writer's files will have; refuse an ending that is another's."""
    text = str(path)
    if "://" in text:
        raise InvalidExport(f"the path must be on this machine, not {text}; export to a file, and copy that")
    if not text.endswith(writer.endings):
        raise InvalidExport(f"the path must end in {' or '.join(writer.endings)} for this format, not {text!r}")
    place = Path(text).absolute()
    return [place, *writer.companions(place)]


def statement_path(path: Path) -> Path:
    """Return where the statement of a file that can hold none lies: cells.csv.gz has cells.statement.json."""
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".csv") + ".statement.json")
