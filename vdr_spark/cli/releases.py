"""`vdr releases`: what is published, and what of it was withdrawn."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from vdr_spark.cli.console import ask_to_go_on, caution, console, leave_on_interrupt, somebody_is_there
from vdr_spark.cli.options import Json, Overrides, RegionName, open_any_window, open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.errors import Declined, InvalidConfig, InvalidWithdrawal
from vdr_spark.plan import make_plan
from vdr_spark.storage.places import OutputFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.release.record import ReleaseRecord
    from vdr_spark.release.register import Register

app = typer.Typer(
    help="What is published, and what of it was withdrawn. Without Spark, unless tables have names or lie in a store.",
    no_args_is_help=True,
)

Where = Annotated[
    str, typer.Argument(metavar="OUTPUT_OR_CONF", help="An output folder, or a configuration, a YAML file.")
]
WhichOne = Annotated[str, typer.Argument(metavar="RELEASE_ID", help="Which release, by its id.")]
Confirmed = Annotated[bool, typer.Option("--yes", help="Do not ask. Without a terminal it has to be said.")]

_WHAT_IT_MEANS = (
    "every reader refuses it from now on, and nothing undoes that. Nothing is deleted: its rows stay in the tables, "
    "its epsilon stays spent, and what was downloaded, exported or copied stays out there; tell those who have it. "
    "What should be used instead is published as another release"
)


@app.command("list")
def list_command(where: Where, overrides: Overrides = None, as_json: Json = False) -> None:
    """Every release of an output, the newest first, withdrawn ones too."""
    records = _open(where, overrides)[0].records()
    if as_json:
        print(json.dumps([record.as_dict() for record in records], indent=2))
        return
    _print_table(records)


@app.command()
def show(
    where: Where,
    release_id: Annotated[
        str | None,
        typer.Argument(metavar="RELEASE_ID", help="Default: that of the configuration; of a folder, the only one."),
    ] = None,
    region: RegionName = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """One release: what it is of, what was promised, whether it was withdrawn. With --json the whole statement."""
    register, config = _open(where, overrides)
    if release_id is None and config is not None:
        plan = make_plan(config)
        release_id, region = plan.release_id(plan.choose_region(region)), None
    record = register.find(release_id, region)
    if as_json:
        print(json.dumps(record.as_dict() | {"statement": record.statement}, indent=2))
        return
    _print_record(record)


@app.command()
def withdraw(
    where: Where,
    release_id: WhichOne,
    reason: Annotated[str, typer.Option("--reason", metavar="WORDS", help="Why, for those who used it.")],
    yes: Confirmed = False,
    overrides: Overrides = None,
) -> None:
    """Mark a release as not to be used any more. For ever; nothing is deleted, and no epsilon comes back."""
    from vdr_spark.release.withdrawals import parse_reason

    words = parse_reason(reason)
    register, _ = _open(where, overrides)
    record = register.find(release_id)
    if record.withdrawal is None:
        caution(f"release {release_id} of dataset {record.dataset} will be withdrawn ({words}): {_WHAT_IT_MEANS}")
        _confirm(yes)
    before, counts = record.withdrawal, register.withdraw(release_id, words)
    if before is not None:
        console.print(f"Release {release_id} was {counts}. Nothing was changed by saying it again.", markup=False)
        return
    console.print(f"Release {release_id} is {counts}.", markup=False)


@app.command()
def migrate(where: Where, overrides: Overrides = None) -> None:
    """Bring the tables of an older version up to date, in place, as publishing does. By Spark; no release changes."""
    changed = _open(where, overrides)[0].migrate()
    for table, added in changed.items():
        columns = f"columns added: {', '.join(added)}" if added else "no columns were missing"
        console.print(f"{table} is up to date now; {columns}", markup=False)
    if not changed:
        console.print("The tables are up to date.")


def _confirm(yes: bool) -> None:
    if yes:
        return
    if not somebody_is_there():
        raise InvalidWithdrawal("a withdrawal must be confirmed, and there is no terminal to ask at; say --yes")
    if not ask_to_go_on():
        raise Declined("not withdrawn, as you said: nothing was changed")


def _open(where: str, overrides: list[str] | None) -> tuple[Register, ReleaseConfig | None]:
    """Open the register of a configuration's output, or of an output folder."""
    from vdr_spark.release.register import Register

    if where.endswith((".yaml", ".yml")) or Path(where).is_file():
        config = open_any_window(Path(where), overrides)
        return Register(make_plan(config).output, lambda: open_spark(config, "releases")), config
    if overrides:
        raise InvalidConfig(f"--set changes settings of a configuration, and {where} is an output folder")
    return Register(OutputFolder.at(where), _start_spark), None


def _start_spark() -> SparkSession:
    """Start Spark for a store that no configuration describes."""
    from vdr_spark.spark.session import spark_session

    with console.status("starting Spark ..."):
        spark = spark_session()
    leave_on_interrupt()
    return spark


def _print_table(records: Sequence[ReleaseRecord]) -> None:
    """Print a line for each release, whole: an id that is cut is no use."""
    if not records:
        console.print("No release is published there.")
        return
    rows = [_line(record) for record in records]
    names = [name for name in rows[0] if name != "region" or any(row[name] for row in rows)]
    widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in names}
    console.print("  ".join(name.ljust(widths[name]) for name in names).rstrip(), markup=False, style="bold")
    for record, row in zip(records, rows, strict=True):
        line = "  ".join(row[name].ljust(widths[name]) for name in names).rstrip()
        console.print(line, markup=False, style="dim" if record.withdrawal else None)


def _line(record: ReleaseRecord) -> dict[str, str]:
    side = record.grid.cells_per_side
    return {
        "release": record.release_id,
        "region": record.region or "",
        "dataset": record.dataset,
        "period": record.period,
        "grid": f"{side} x {side} x {record.grid.slices}",
        "epsilon": record.promise.parameters.removeprefix("epsilon "),
        "model": record.model,
        "protected": "yes" if record.protected else "NO: a test seed",
        "created (UTC)": f"{record.created:%Y-%m-%d %H:%M}",
        "withdrawn (UTC)": f"{record.withdrawal.withdrawn_at:%Y-%m-%d %H:%M}" if record.withdrawal else "",
    }


def _print_record(record: ReleaseRecord) -> None:
    console.print(f"Release [bold]{escape(record.release_id)}[/bold]")
    if record.withdrawal is not None:
        console.print(f"  {record.withdrawal.banner}", markup=False, style="bold red")
    for name, fact in _facts(record).items():
        if fact:
            console.print(f"  {name:<11}{fact}", markup=False)


def _facts(record: ReleaseRecord) -> dict[str, str]:
    """Return what it is of, and its statement in short."""
    from vdr_spark.query.wording import format_box
    from vdr_spark.release.release import describe_bound

    grid, exact, line = record.grid, record.statement.get("exact", {}), _line(record)
    height, width = grid.cell_metres
    told = record.promise
    promise = (
        f"adding or removing {told.unit.whom} changes the probability of any possible release by at "
        f"most a factor of e^{told.figure}{told.beyond}"
    )
    return {
        **{name: line[name] for name in ("region", "dataset")},
        "period": f"{record.period}, {record.zone.key}; {grid.slices} slices of {grid.slice_seconds / 3600:g} h",
        "grid": f"{line['grid']}, cells of {width:.0f} m x {height:.0f} m, {format_box(grid.box)} in all",
        "promise": promise if record.protected else "UNPROTECTED, from a test seed: it protects nobody",
        "kept": f"{describe_bound(record.k, record.statement)} of a user",
        "N": "{value:,}, {source}".format_map(exact["total_pings"]) if "total_pings" in exact else "",
        "budget": f"{_kept_in(exact)}{exact['committed']} of {exact['granted']} granted was spent when it was published"
        if "granted" in exact
        else "",
        "model": record.model,
        "created": f"{line['created (UTC)']} UTC",
    }


def _kept_in(exact: Mapping[str, Any]) -> str:
    """Return the currency of the budget where it is not pure epsilon, which a statement from before does not name."""
    return f"{exact['budget_currency']} " if "budget_currency" in exact else ""
