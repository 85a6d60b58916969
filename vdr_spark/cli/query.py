"""`vdr query`: questions to a published release, answered in a sentence or as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer

from vdr_spark.cli.console import console
from vdr_spark.cli.options import (
    Conf,
    Json,
    Overrides,
    RegionName,
    WithdrawnToo,
    open_config,
    open_release,
    read_moment,
    read_numbers,
)
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box, Grid
from vdr_spark.plan import make_plan
from vdr_spark.query.dense_hotspot import EXTENT_M

if TYPE_CHECKING:
    from vdr_spark.query import Answer
    from vdr_spark.release.release import Release

app = typer.Typer(
    help="Ask a published release. It costs no privacy, however often, and starts Spark only for tables by name.",
    no_args_is_help=True,
)

At = Annotated[str | None, typer.Option("--at", metavar="LAT,LON", help="A place. Default: the middle of the region.")]
Side = Annotated[float, typer.Option("--side", metavar="METRES", help="Side of the square around --at.")]
Edges = Annotated[
    str | None, typer.Option("--box", metavar="S,W,N,E", help="A box in degrees, instead of --at and --side.")
]
ReleaseId = Annotated[str | None, typer.Option("--release", help="Which release. Default: that of the configuration.")]


@app.command("range")
def range_command(
    conf: Conf,
    at: At = None,
    side: Side = 1000.0,
    box: Edges = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help="ISO time, in the release's zone unless it says. Default: its start."
        ),
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="The same. Default: its end.")] = None,
    region: RegionName = None,
    release_id: ReleaseId = None,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Count the pings of a box during a period. Default: the square kilometre in the middle, the whole period."""
    config = open_config(conf, overrides)
    area = _box(_grid(config, region), at, side, box)
    since, until = read_moment("--from", start), read_moment("--to", end)
    release = open_release(config, region, release_id, withdrawn_too)
    _print(release.range_count(area, since, until), release, as_json)


@app.command("hotspot")
def hotspot_command(
    conf: Conf,
    at: At = None,
    when: Annotated[
        str | None,
        typer.Option(
            "--when", metavar="TIME", help="ISO time, in the release's zone unless it says. Default: noon of day one."
        ),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Pings that make a hot spot. Default: the busiest 0.1 % of cells.")
    ] = None,
    within: Annotated[float | None, typer.Option(metavar="METRES", help="Look no farther than this.")] = None,
    density: Annotated[
        float | None,
        typer.Option(
            metavar="NU",
            help="Pings of a cell, as in the paper: searches all slices too, by probability, no percentile.",
        ),
    ] = None,
    extent: Annotated[
        float | None, typer.Option(metavar="METRES", help="With --density: how far over ground. Default: 5000.")
    ] = None,
    at_ping: Annotated[
        bool, typer.Option("--at-ping", help="With --density: somebody who is there then asks, not a map.")
    ] = False,
    least_probability: Annotated[
        float, typer.Option(metavar="P", help="With --density: name no cell that holds it with less. Default: any.")
    ] = 0.0,
    region: RegionName = None,
    release_id: ReleaseId = None,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Find the nearest cell with at least so many pings, in the slice that holds a moment; with --density in any."""
    _check_hotspot_options(threshold, within, density, extent)
    if density is None and (at_ping or least_probability):
        raise InvalidQuery("--at-ping and --least-probability must come with --density; give it, or leave them out")
    config = open_config(conf, overrides)
    lat, lon = _place(_grid(config, region), at)
    asked = read_moment("--when", when)
    release = open_release(config, region, release_id, withdrawn_too)
    moment = asked or _noon(release)
    if density is None:
        _print(release.nearest_hotspot(lat, lon, moment, threshold, within), release, as_json)
    else:
        reach = EXTENT_M if extent is None else extent
        answer = release.nearest_dense_hotspot(
            lat, lon, moment, density, reach, at_ping=at_ping, least_probability=least_probability
        )
        _print(answer, release, as_json)


@app.command("forecast")
def forecast_command(
    conf: Conf,
    at: At = None,
    side: Side = 1000.0,
    box: Edges = None,
    horizon: Annotated[int, typer.Option(help="How many slices ahead.")] = 8,
    method: Annotated[str, typer.Option(help="theta, as in the paper, or holt_winters.")] = "theta",
    region: RegionName = None,
    release_id: ReleaseId = None,
    withdrawn_too: WithdrawnToo = False,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Forecast the pings of a box in the slices after the release."""
    config = open_config(conf, overrides)
    area = _box(_grid(config, region), at, side, box)
    release = open_release(config, region, release_id, withdrawn_too)
    _print(release.forecast(area, horizon, method), release, as_json)


def _check_hotspot_options(
    threshold: float | None, within: float | None, density: float | None, extent: float | None
) -> None:
    """Refuse options of one search together with those of the other."""
    if density is None and extent is not None:
        raise InvalidQuery("--extent must come with --density; use --within METRES for the search in one slice")
    if density is not None and (threshold is not None or within is not None):
        raise InvalidQuery("--density must not come with --threshold or --within; use --extent METRES with it")


def _grid(config: ReleaseConfig, region: str | None) -> Grid:
    return make_plan(config).choose_region(region).grid


def _place(grid: Grid, at: str | None) -> tuple[float, float]:
    if at is None:
        return grid.box.centre
    lat, lon = read_numbers("--at", at, 2)
    return lat, lon


def _box(grid: Grid, at: str | None, side: float, edges: str | None) -> Box:
    if edges is not None:
        return Box(*read_numbers("--box", edges, 4))
    if not side > 0:
        raise InvalidQuery(f"--side must be a positive number of metres, not {side:g}")
    return Box.around(*_place(grid, at), side)


def _noon(release: Release) -> datetime:
    """Return noon of the first day, or the first slice where the period has no noon."""
    grid = release.grid
    local = grid.start.astimezone(release.zone)
    noon = local.replace(hour=12, minute=0, second=0, microsecond=0)
    return noon if grid.start <= noon < grid.end else grid.start


def _print(answer: Answer, release: Release, as_json: bool) -> None:
    if as_json:
        content = asdict(answer) | {"timezone": release.zone.key}  # type: ignore[call-overload]
        if release.withdrawal is not None:
            content["withdrawn"] = release.withdrawal.as_dict()
        print(json.dumps(content, default=_plain))
    else:
        console.print(str(answer), markup=False)


def _plain(value: object) -> object:
    return value.tolist() if isinstance(value, np.ndarray) else str(value)
