"""`vdr export`: a published release as a file for other tools, from its tables alone."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vdr_spark.cli.console import ConsoleProgress, console
from vdr_spark.cli.options import open_release, read_moment, read_numbers
from vdr_spark.config import ReleaseConfig
from vdr_spark.export.export import check_export
from vdr_spark.grid import Box


@dataclass(frozen=True)
class Wish:
    """What a person wrote: which format and place, which cells, how."""

    format: str
    to: Path
    box: str | None
    start: str | None
    end: str | None
    geometry: str | None
    resolution: int | None
    overwrite: bool
    withdrawn_too: bool


def run(config: ReleaseConfig, region: str | None, release_id: str | None, wish: Wish) -> None:
    """Export the release of a configuration, or one of its output folder by its id, and say where the files are."""
    check_export(wish.to, wish.format, wish.geometry, wish.resolution, wish.overwrite)
    box = None if wish.box is None else Box(*read_numbers("--box", wish.box, 4))
    start, end = read_moment("--start", wish.start), read_moment("--end", wish.end)
    release = open_release(config, region, release_id, wish.withdrawn_too)
    written = release.export(
        wish.to,
        wish.format,
        box=box,
        start=start,
        end=end,
        geometry=wish.geometry,
        resolution=wish.resolution,
        overwrite=wish.overwrite,
        progress=ConsoleProgress(),
    )
    for path in written:
        console.print(str(path), markup=False)
    if release.deviation is None:
        console.print(f"There are no deviations: {release.model} gives no error bars.", markup=False)
