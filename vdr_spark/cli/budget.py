"""`vdr budget`: what a dataset may still spend, and what it has spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.table import Table

from vdr_spark.cli.console import console
from vdr_spark.cli.options import Conf, Json, Overrides, open_config, open_spark
from vdr_spark.config import ReleaseConfig
from vdr_spark.config.values import parse_epsilon, parse_seconds
from vdr_spark.errors import InvalidConfig

if TYPE_CHECKING:
    from vdr_spark.privacy.accounting import Account
    from vdr_spark.privacy.ledger import Ledger

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
    config, amount = open_config(conf, overrides), _parsed("epsilon", epsilon, parse_epsilon)
    ledger = _ledger(config)
    ledger.grant(config, amount)
    _print(ledger.account(config.dataset), as_json)


@app.command()
def cap(
    conf: Conf,
    epsilon: Annotated[str, typer.Argument(help="At most so much, a decimal or a fraction ...")],
    per: Annotated[str, typer.Argument(help="... within any stretch of this length, such as 30d.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Limit how fast the dataset's budget may be spent, from now on. On record for ever."""
    config, amount = open_config(conf, overrides), _parsed("epsilon", epsilon, parse_epsilon)
    seconds = _parsed("per", per, parse_seconds)
    ledger = _ledger(config)
    ledger.cap(config, amount, seconds)
    _print(ledger.account(config.dataset), as_json)


@app.command()
def history(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Every entry of the book that concerns the dataset, oldest first."""
    config = open_config(conf, overrides)
    entries = [entry for entry in _ledger(config).entries() if entry.dataset == config.dataset]
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], default=str, indent=2))
        return
    table = Table("entry", "when", "state", "epsilon", "of", "draw")
    for entry in entries:
        when = f"{entry.recorded_at:%Y-%m-%d %H:%M:%S}"
        of = entry.purpose or (f"per {entry.per_seconds} s" if entry.per_seconds else "")
        table.add_row(str(entry.sequence), when, entry.state.value, str(entry.epsilon), of, entry.draw_id)
    console.print(table)


T = TypeVar("T")


def _parsed(name: str, text: str, parse: Callable[[object], T]) -> T:
    try:
        return parse(text)
    except ValueError as problem:
        raise InvalidConfig(f"{name} {problem} (received {text!r})") from None


def _ledger(config: ReleaseConfig) -> Ledger:
    from vdr_spark.privacy.ledger import Ledger  # brings Spark, for which `vdr --help` does not wait

    return Ledger.of(open_spark(config, "budget"), config)


def _print(account: Account, as_json: bool) -> None:
    if as_json:
        amounts = ("granted", "reserved", "spent", "committed", "remaining", "cap", "recent")
        figures = {name: _written(getattr(account, name)) for name in amounts}
        print(json.dumps({"dataset": account.dataset, **figures, "cap_seconds": account.per_seconds}))
        return
    console.print(
        f"Dataset {account.dataset}: granted epsilon {account.granted}, reserved or spent {account.committed}, "
        f"remaining {account.remaining}."
    )
    if account.reserved:
        console.print(f"Of it {account.reserved} is reserved by draws that were not finished; it counts all the same.")
    if account.cap is not None:
        console.print(f"At most {account.cap} within {account.per_seconds} s, of which {account.recent} is taken.")


def _written(amount: Fraction | None) -> str | None:
    """Exact: JSON's numbers are not."""
    return None if amount is None else str(amount)
