"""Commands over a published release, from its tables alone: maps, a report, a page, files for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vdr_spark.cli import query
from vdr_spark.cli.options import Conf, Overrides, RegionName, WithdrawnToo, open_config

app = typer.Typer()


@app.command()
def draw(
    conf: Conf,
    region: RegionName = None,
    release_id: query.ReleaseId = None,
    moving: Annotated[
        bool, typer.Option("--moving", help="Also the busiest day as a moving picture, day.webp.")
    ] = False,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
) -> None:
    """Draw maps of a published release, from its tables alone: a few slices, a day, the whole period, the error."""
    from vdr_spark.cli import draw as command

    command.run(open_config(conf, overrides), region, release_id, withdrawn_too, moving)


@app.command()
def report(
    conf: Conf,
    region: RegionName = None,
    release_id: query.ReleaseId = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="PATH", help="The file to write. Default: in `reports` of the output."),
    ] = None,
    withdrawn_too: WithdrawnToo = False,
    reads_the_truth: Annotated[
        bool,
        typer.Option(
            "--reads-the-truth", help="Of generated pings: also true, noisy and released side by side. NOT private."
        ),
    ] = False,
    overrides: Overrides = None,
) -> None:
    """Write a report on a published release as one HTML file: promise, budget, maps, accuracy, hot spots, use.

    From released tables and the ledger alone. It fetches nothing, runs nothing, and prints well.
    """
    from vdr_spark.cli import report as command

    command.run(open_config(conf, overrides), conf, region, release_id, to, withdrawn_too, reads_the_truth)


@app.command()
def explore(
    conf: Conf,
    region: RegionName = None,
    release_id: query.ReleaseId = None,
    port: Annotated[
        int, typer.Option(metavar="N", help="Where to listen on 127.0.0.1. Default: any that is free.")
    ] = 0,
    backdrop: Annotated[
        Path | None,
        typer.Option(metavar="FILE.geojson", help="Coast, streets, borders of your own behind the density."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Print the address, and open nothing.")] = False,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
) -> None:
    """Show a published release on a page of this machine: maps, boxes, hot spots. From its tables alone."""
    from vdr_spark.cli import explore as command

    config = open_config(conf, overrides)
    command.run(config, region, release_id, withdrawn_too, port, backdrop, not no_browser)


@app.command()
def export(
    conf: Conf,
    format: Annotated[
        str, typer.Option("--format", metavar="FORMAT", help="geoparquet, geotiff, zarr, csv, or h3: sums of hexagons.")
    ],
    to: Annotated[
        Path, typer.Option("--to", metavar="PATH", help="A file, or for Zarr a folder, in a folder that exists.")
    ],
    region: RegionName = None,
    release_id: query.ReleaseId = None,
    box: Annotated[
        str | None, typer.Option("--box", metavar="S,W,N,E", help="Only cells that this box touches, in degrees.")
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="ISO time, in the release's zone unless it says. Default: its start."),
    ] = None,
    end: Annotated[str | None, typer.Option(metavar="TIME", help="The same. Default: its end.")] = None,
    geometry: Annotated[
        str | None,
        typer.Option(metavar="cell|centre", help="Of GeoParquet: outlines of cells, or their centres. Default: cell."),
    ] = None,
    resolution: Annotated[
        int | None, typer.Option(metavar="0-15", help="Of h3: 8 has hexagons of 0.7 square kilometres. Default: 8.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what lies at PATH; without it, that is refused.")
    ] = False,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
) -> None:
    """Write a published release as a file for other tools, from its tables alone. Costs no privacy.

    The file says which release it is of and what was promised, and is there whole or not at all.
    """
    from vdr_spark.cli import export as command

    wish = command.Wish(format, to, box, start, end, geometry, resolution, overwrite, withdrawn_too)
    command.run(open_config(conf, overrides), region, release_id, wish)
