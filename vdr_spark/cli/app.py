"""All commands of `vdr`, put together.

What a command needs is imported when it runs: `vdr --help` and `vdr explain` answer at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vdr_spark.cli import budget, query, releases, series, sql
from vdr_spark.cli.console import console, run
from vdr_spark.cli.logs import show_log_options
from vdr_spark.cli.options import (
    Conf,
    DryRun,
    Json,
    Overrides,
    ReadsTheTruth,
    RegionName,
    WithdrawnToo,
    Yes,
    open_any_window,
    open_config,
)
from vdr_spark.errors import ExitCode, InvalidConfig

app = typer.Typer(
    name="vdr",
    help="Publish how many pings fall where and when, with every user protected. Start with: vdr explain CONF",
    no_args_is_help=True,
    callback=show_log_options,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(query.app, name="query")
app.add_typer(budget.app, name="budget")
app.add_typer(releases.app, name="releases")
app.add_typer(sql.app, name="sql")
app.add_typer(series.app, name="series")


def main(arguments: list[str] | None = None) -> None:
    """Entry point of the console command."""
    sys.exit(run(app, sys.argv[1:] if arguments is None else arguments))


@app.command("explain")
def explain_command(conf: Conf, overrides: Overrides = None) -> None:
    """Say what a configuration will do, spend and need, before any data are read."""
    from vdr_spark.explain import explain
    from vdr_spark.plan import make_plan

    console.print(explain(make_plan(open_any_window(conf, overrides))), markup=False)


@app.command("check")
def check_command(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Look whether the pings fit the configuration, before any epsilon is spent. NOT private: it prints exact figures.

    Nothing is stored, logged or booked. Exit code 0 if nothing looks wrong, 6 if something does.
    """
    from vdr_spark.cli import check as command

    if not command.run(open_config(conf, overrides), as_json):
        raise typer.Exit(ExitCode.NOT_RIGHT)


@app.command("advise")
def advise_command(
    conf: Conf,
    exponent: Annotated[
        float | None, typer.Option(metavar="NUMBER", help="Declare pings per user: p(n) ~ (n + shift)^-exponent ...")
    ] = None,
    most: Annotated[float | None, typer.Option(metavar="N", help="... up to so many pings of one user ...")] = None,
    users: Annotated[float | None, typer.Option(metavar="N", help="... of about so many users, ...")] = None,
    shift: Annotated[float | None, typer.Option(metavar="NUMBER", help="... or with this shift.")] = None,
    earlier: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Output folder of an earlier release of the same city.")
    ] = None,
    earlier_release: Annotated[
        str | None, typer.Option(metavar="ID", help="Which release of that folder. Default: the only one.")
    ] = None,
    total: Annotated[
        float | None, typer.Option(metavar="N", help="About how many pings there are, where that is not declared.")
    ] = None,
    apart: Annotated[
        float,
        typer.Option(metavar="TIMES", help="Users of half of the city have so many times the pings of the others."),
    ] = 1.0,
    pay: Annotated[
        bool, typer.Option("--pay", help="Draw the histogram of privacy.size_histogram: spends its share, once.")
    ] = False,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Say which k, or norm, gives the least error to be expected, from public knowledge only.

    Reads no ping, unless a histogram of pings per user is paid for (--pay), which the ledger books first.
    """
    from vdr_spark.cli import advise as command

    options = command.Options(exponent, most, users, shift, earlier, earlier_release, total, apart, pay)
    command.run(open_config(conf, overrides), options, as_json)


@app.command()
def synth(conf: Conf, dry_run: DryRun = False, overrides: Overrides = None) -> None:
    """Generate the pings of a made-up city, as the section `synth` says, at `input.path`."""
    _run("synth", conf, overrides, dry_run)


@app.command()
def collect(conf: Conf, yes: Yes = False, dry_run: DryRun = False, overrides: Overrides = None) -> None:
    """Bound every user to k pings, count, add exact noise, store the noisy slices. Spends the epsilon."""
    _run("collect", conf, overrides, dry_run, ask=not yes)


@app.command()
def denoise(conf: Conf, dry_run: DryRun = False, overrides: Overrides = None) -> None:
    """Estimate the counts from the noisy slices alone. Costs no privacy."""
    _run("denoise", conf, overrides, dry_run)


@app.command()
def refine(conf: Conf, dry_run: DryRun = False, overrides: Overrides = None) -> None:
    """Scale the estimates from the pings kept to all pings. Costs no privacy."""
    _run("refine", conf, overrides, dry_run)


@app.command()
def publish(conf: Conf, dry_run: DryRun = False, overrides: Overrides = None) -> None:
    """Write the release into the Delta tables `cells`, `pyramid` and `releases`."""
    _run("publish", conf, overrides, dry_run)


@app.command()
def release(
    conf: Conf,
    yes: Yes = False,
    dry_run: DryRun = False,
    overrides: Overrides = None,
    window: Annotated[
        list[str] | None, typer.Option("--window", metavar="NAME", help="Of a series: one window, as 2020-W05.")
    ] = None,
    next_one: Annotated[
        bool, typer.Option("--next", help="Of a series: the first window that is due and not published.")
    ] = False,
    until: Annotated[
        str | None,
        typer.Option(metavar="DAY", help="Of a series: all windows that are due then, in order; `today`, or a day."),
    ] = None,
    correct: Annotated[
        str | None,
        typer.Option(metavar="WORDS", help="With --window: draw it again for what it kept back; why. Supersedes it."),
    ] = None,
) -> None:
    """Collect, denoise, refine and publish: whatever of these is not done yet. Of a series, windows in order."""
    wish = series.Wish(tuple(window or ()), next_one, until, correct)
    if wish.is_given:
        series.release_windows(conf, overrides or [], wish, not yes, dry_run)
        return
    _run("release", conf, overrides, dry_run, ask=not yes)


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


@app.command()
def evaluate(
    conf: Conf, region: RegionName = None, reads_the_truth: ReadsTheTruth = False, overrides: Overrides = None
) -> None:
    """Compare a release with the exact counts. NOT private: its results stay out of every release."""
    from vdr_spark.cli import evaluate as command

    command.run(open_config(conf, overrides), region, reads_the_truth)


@app.command("audit")
def audit_command(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Verify a release: ledger, noisy tensor, its noise, cells, statement. Exit code 0 if all holds, 6 if not."""
    from vdr_spark.cli import audit as command

    if not command.run(open_config(conf, overrides), as_json):
        raise typer.Exit(ExitCode.NOT_RIGHT)


@app.command()
def demo(conf: Conf, overrides: Overrides = None) -> None:
    """Generate a city and release it, end to end; then ask it questions and compare it with its truth."""
    from vdr_spark.cli import demo as command

    command.run(open_config(conf, overrides), conf)


@app.command()
def experiment(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="An experiment of conf/experiments, or a YAML file.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="List the experiments, and end.")] = False,
    input: Annotated[
        str | None,
        typer.Option("--input", metavar="PATH", help="Real pings: Parquet, or SNAP's check-ins. Default: generated."),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Box, period, slices and who is protected, as cabs_sf or tdrive.")
    ] = None,
    size: Annotated[str, typer.Option(metavar="full|quick", help="For the record, or of seconds.")] = "full",
    quick: Annotated[bool, typer.Option("--quick", help="The same as --size quick.")] = False,
    cells: Annotated[int | None, typer.Option(metavar="M", help="Cells along each side.")] = None,
    method: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="In place of the experiment's methods. Repeatable.")
    ] = None,
    epsilon: Annotated[
        list[float] | None, typer.Option(metavar="NUMBER", help="In place of the experiment's. Repeatable.")
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="A setting of all points, as k=13, data.pings=1e6. Repeatable."
        ),
    ] = None,
    draws: Annotated[int | None, typer.Option(metavar="N", help="Of the noise. Default: 3.")] = None,
    output: Annotated[str | None, typer.Option(metavar="FOLDER", help="Default: a folder of out/experiments.")] = None,
    record: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER", help="Put table, paragraph and record there too, as docs/results.md reads them."
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--conf", metavar="FOLDER", help="Where experiments are.")] = Path(
        "conf/experiments"
    ),
) -> None:
    """Run one of the paper's experiments: CSV, PNG, and a paragraph of what is seen. NOT private: it reads the truth.

    What is done is not done again: a run that was ended goes on with the same command.
    """
    from vdr_spark.cli import experiment as command
    from vdr_spark.experiments.experiment import Wish

    if show_list:
        command.print_list(folder)
        return
    if name is None:
        raise InvalidConfig("which experiment? Name one of `vdr experiment --list`")
    chosen = "quick" if quick else size
    wish = Wish(
        name,
        chosen,
        input,
        preset,
        cells,
        draws,
        tuple(epsilon or ()),
        tuple(method or ()),
        tuple(assignments or ()),
        output,
        record,
    )
    command.run(wish, folder)


def _run(command: str, conf: Path, overrides: list[str] | None, dry: bool, ask: bool = False) -> None:
    """Run the stage of a command; of `release`, all of them."""
    from vdr_spark.cli.stages import run_stages
    from vdr_spark.stage_log import RELEASE_STAGES

    names = RELEASE_STAGES if command == "release" else (command,)
    run_stages(command, names, conf, overrides or (), ask, dry)
