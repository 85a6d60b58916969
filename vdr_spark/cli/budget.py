"""`vdr budget`: what a dataset may still spend, and what it has spent."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer
from rich.table import Table

from vdr_spark.cli.console import console
from vdr_spark.cli.options import Conf, Json, Overrides, open_config, open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.values import parse_epsilon
from vdr_spark.errors import InvalidConfig
from vdr_spark.privacy.ledger import Account, Ledger
from vdr_spark.workspace import Workspace

app = typer.Typer(help="The budget book of a dataset.", no_args_is_help=True)


@app.command()
def show(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """What was granted to the configuration's dataset, what is taken, what remains."""
    config = open_config(conf, overrides)
    _print(_ledger(config).account(config.dataset), as_json)


@app.command()
def grant(
    conf: Conf,
    epsilon: Annotated[str, typer.Argument(help="How much to add, a decimal or a fraction.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Add to the dataset's budget. A decision for people to take, and on record for ever."""
    config = open_config(conf, overrides)
    try:
        amount = parse_epsilon(epsilon)
    except ValueError as problem:
        raise InvalidConfig(f"epsilon {problem} (received {epsilon!r})") from None
    ledger = _ledger(config)
    ledger.grant(config, amount)
    _print(ledger.account(config.dataset), as_json)


@app.command()
def history(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Every entry of the book that concerns the dataset, oldest first."""
    config = open_config(conf, overrides)
    entries = [entry for entry in _ledger(config).entries() if entry.dataset == config.dataset]
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], default=str, indent=2))
        return
    table = Table("entry", "when", "state", "epsilon", "draw")
    for entry in entries:
        when = f"{entry.recorded_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(str(entry.sequence), when, entry.state.value, str(entry.epsilon), entry.draw_id)
    console.print(table)


def _ledger(config: ReleaseConfig) -> Ledger:
    return Ledger(open_spark(config, "budget"), Workspace.of(config).ledger)


def _print(account: Account, as_json: bool) -> None:
    figures = {name: str(getattr(account, name)) for name in ("dataset", "granted", "committed", "remaining")}
    if as_json:
        print(json.dumps(figures))
    else:
        console.print(
            f"Dataset {account.dataset}: granted epsilon {account.granted}, reserved or spent {account.committed}, "
            f"remaining {account.remaining}."
        )
