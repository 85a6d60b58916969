"""`vdr budget`: what a dataset may still spend, and what it has spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.table import Table

from vdr_spark.cli.console import console
from vdr_spark.cli.options import Conf, Json, Overrides, open_config, open_spark
from vdr_spark.config.values import parse_epsilon, parse_seconds
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import Plan, make_plan
from vdr_spark.privacy.accounting import Account, Cap
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.privacy.ledger import Ledger

app = typer.Typer(help="The budget of a dataset, as its ledger has it.", no_args_is_help=True)


@app.command()
def show(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """What was granted to the configuration's dataset, what is taken, what remains."""
    config = open_config(conf, overrides)
    _print(_read_ledger(make_plan(config)).account(config.dataset), as_json)


@app.command()
def grant(
    conf: Conf,
    epsilon: Annotated[str, typer.Argument(help="How much to add, a decimal or a fraction.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Add to the dataset's budget. A decision for people to take, and on record for ever."""
    plan, amount = make_plan(open_config(conf, overrides)), _parse("epsilon", epsilon, parse_epsilon)
    ledger = _open_ledger(plan)
    ledger.grant(plan.budget_request, amount)
    _print(ledger.account(plan.config.dataset), as_json)


@app.command()
def cap(
    conf: Conf,
    epsilon: Annotated[str, typer.Argument(help="At most so much, a decimal or a fraction ...")],
    per: Annotated[str, typer.Argument(help="... within any stretch of this length, such as 30d.")],
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Limit how fast the dataset's budget may be spent, from now on. On record for ever."""
    plan, amount = make_plan(open_config(conf, overrides)), _parse("epsilon", epsilon, parse_epsilon)
    seconds = _parse("per", per, parse_seconds)
    ledger = _open_ledger(plan)
    ledger.cap(plan.budget_request, Cap(amount, seconds))
    _print(ledger.account(plan.config.dataset), as_json)


@app.command()
def history(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Every entry of the ledger that concerns the dataset, oldest first."""
    config = open_config(conf, overrides)
    entries = [entry for entry in _read_ledger(make_plan(config)).entries() if entry.dataset == config.dataset]
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], default=str, indent=2))
        return
    table = Table("entry", "when", "state", "epsilon", "of", "draw")
    for entry in entries:
        when = f"{entry.recorded_at:%Y-%m-%d %H:%M:%S}"
        of = entry.purpose or (f"per {entry.window_seconds} s" if entry.window_seconds else "")
        table.add_row(str(entry.sequence), when, entry.state.value, str(entry.epsilon), of, entry.draw_id)
    console.print(table)


T = TypeVar("T")
_AMOUNTS = ("granted", "reserved", "spent", "committed", "remaining", "recent")


def _parse(name: str, text: str, parse: Callable[[object], T]) -> T:
    try:
        return parse(text)
    except ValueError as problem:
        raise InvalidConfig(f"{name} {problem} (received {text!r})") from None


def _read_ledger(plan: Plan) -> LedgerReader:
    """Open the ledger to look at it: on a local disk, and in an object store, no Spark is started."""
    learn(plan.config.spark.conf)
    return LedgerReader(plan.ledger, lambda: _open_spark(plan))


def _open_ledger(plan: Plan) -> Ledger:
    """Open the ledger to write it; refused where a second process is not kept out."""
    from vdr_spark.collect.exclusion import check_places
    from vdr_spark.privacy.ledger import Ledger

    plan.require_exclusion()  # as far as settings tell, before Spark is started
    spark = _open_spark(plan)
    check_places(spark, plan)
    return Ledger(spark, plan.ledger)


def _open_spark(plan: Plan) -> SparkSession:
    return open_spark(plan.config, "budget")


def _print(account: Account, as_json: bool) -> None:
    if as_json:
        figures = {name: str(getattr(account, name)) for name in _AMOUNTS}  # exact: JSON's numbers are not
        cap = account.cap and {"epsilon": str(account.cap.epsilon), "window_seconds": account.cap.window_seconds}
        print(json.dumps({"dataset": account.dataset, **figures, "cap": cap}))
        return
    console.print(str(account), markup=False)
