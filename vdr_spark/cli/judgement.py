"""Commands that judge: a release against its promise or its truth, and methods against each other."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vdr_spark.cli.options import Conf, Json, Overrides, ReadsTheTruth, RegionName, open_config
from vdr_spark.errors import ExitCode, InvalidConfig

app = typer.Typer()


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
