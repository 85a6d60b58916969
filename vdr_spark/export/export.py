"""The order of events of an export: everything that can be refused is refused before anything is written."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vdr_spark.export.formats import open_writer, places_of
from vdr_spark.export.part import Part
from vdr_spark.export.whole import check_places, write_whole
from vdr_spark.grid import Box
from vdr_spark.packages import explain_missing_packages
from vdr_spark.progress import NullProgress, Progress

if TYPE_CHECKING:
    from vdr_spark.release.release import Release


@explain_missing_packages()
def check_export(
    path: str | Path,
    format: str,
    geometry: str | None = None,
    resolution: int | None = None,
    overwrite: bool = False,
) -> None:
    """Refuse an export that could not be written, whatever release it is of: asked before a large one is read."""
    check_places(places_of(open_writer(format, geometry, resolution), path), overwrite)


@explain_missing_packages()
def export_release(
    release: Release,
    path: str | Path,
    format: str,
    *,
    box: Box | None = None,
    start: datetime | None = None,
    end: datetime | None = None,
    geometry: str | None = None,
    resolution: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> list[Path]:
    """Write the cells that a box and a period touch; return the paths that were written, the one asked for first.

    Memory holds the release and a few of its slices. Moments carry a time zone.
    """
    writer = open_writer(format, geometry, resolution)
    paths = places_of(writer, path)
    part = Part.of(release, box, start, end)
    with (
        write_whole(paths, overwrite) as hidden,
        (progress or NullProgress()).task(f"export as {format}", part.size) as update,
    ):
        writer.write(part, hidden, update)
    return [place for place in paths if place.exists()]
