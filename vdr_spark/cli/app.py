"""All commands of `vdr`, put together; those that make a release stand here.

What a command needs is imported when it runs: `vdr --help` and `vdr explain` answer at once.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from vdr_spark.cli import budget, judgement, over_release, query, releases, series, sql
from vdr_spark.cli.console import console, run
from vdr_spark.cli.logs import show_log_options
from vdr_spark.cli.options import (
    Conf,
    DryRun,
    Json,
    Overrides,
    Yes,
    open_any_window,
    open_config,
)
from vdr_spark.errors import ExitCode

app = typer.Typer(
    name="vdr",
    help="Publish how many pings fall where and when, with every user protected. Start with: vdr explain CONF",
    no_args_is_help=True,
    callback=show_log_options,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.add_typer(over_release.app)
app.add_typer(judgement.app)
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


def _run(command: str, conf: Path, overrides: list[str] | None, dry: bool, ask: bool = False) -> None:
    """Run the stage of a command; of `release`, all of them."""
    from vdr_spark.cli.stages import run_stages
    from vdr_spark.stage_log import RELEASE_STAGES

    names = RELEASE_STAGES if command == "release" else (command,)
    run_stages(command, names, conf, overrides or (), ask, dry)
