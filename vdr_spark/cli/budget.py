"""`vdr budget`: what a dataset may still spend, and what it has spent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer
from rich.table import Table

from vdr_spark.cli.console import console
from vdr_spark.cli.options import Conf, Json, Overrides, open_any_window, open_spark
from vdr_spark.cli.translation import translate
from vdr_spark.config.values import parse_delta, parse_epsilon, parse_seconds
from vdr_spark.errors import InvalidConfig
from vdr_spark.plan import Plan, make_plan
from vdr_spark.price import Currency, Price
from vdr_spark.privacy.accounting import Account
from vdr_spark.privacy.entries import Cap, Grant
from vdr_spark.privacy.ledger_reader import LedgerReader
from vdr_spark.storage.store_access import learn

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.privacy.ledger import Ledger

InCurrency = Annotated[
    Currency, typer.Option(help="What the amount is in, which must be what the dataset's budget is kept in.")
]

app = typer.Typer(help="The budget of a dataset, as its ledger has it.", no_args_is_help=True)


@app.command()
def show(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """What was granted to the configuration's dataset, what is taken, what remains."""
    config = open_any_window(conf, overrides)
    _print(_read_ledger(make_plan(config)).account(config.dataset), as_json)


@app.command()
def grant(
    conf: Conf,
    amount: Annotated[str, typer.Argument(help="How much to add, a decimal or a fraction.")],
    currency: InCurrency = Currency.EPSILON,
    delta: Annotated[
        str | None, typer.Option(help="With rho, of a first grant: at which people are told an epsilon.")
    ] = None,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Add to the dataset's budget. A decision for people to take, and on record for ever."""
    plan = make_plan(open_any_window(conf, overrides))
    price = Price(_parse(currency.value, amount, parse_epsilon), currency)
    if delta is not None and currency is Currency.EPSILON:
        raise InvalidConfig(
            f"--delta goes with --currency rho: a pure epsilon has none (received {delta}); leave it out"
        )
    grant = Grant(price, None if delta is None else _parse("delta", delta, parse_delta))
    ledger = _open_ledger(plan)
    ledger.grant(plan.budget_request, grant)
    _print(ledger.account(plan.config.dataset), as_json)


@app.command()
def cap(
    conf: Conf,
    amount: Annotated[str, typer.Argument(help="At most so much, a decimal or a fraction ...")],
    per: Annotated[str, typer.Argument(help="... within any stretch of this length, such as 30d.")],
    currency: InCurrency = Currency.EPSILON,
    overrides: Overrides = None,
    as_json: Json = False,
) -> None:
    """Limit how fast the dataset's budget may be spent, from now on. On record for ever."""
    plan = make_plan(open_any_window(conf, overrides))
    price = Price(_parse(currency.value, amount, parse_epsilon), currency)
    seconds = _parse("per", per, parse_seconds)
    ledger = _open_ledger(plan)
    ledger.cap(plan.budget_request, Cap(price, seconds))
    _print(ledger.account(plan.config.dataset), as_json)


@app.command()
def history(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """Every entry of the ledger that concerns the dataset, oldest first."""
    config = open_any_window(conf, overrides)
    entries = [entry for entry in _read_ledger(make_plan(config)).entries() if entry.dataset == config.dataset]
    if as_json:
        print(json.dumps([asdict(entry) for entry in entries], default=str, indent=2))
        return
    table = Table("entry", "when", "state", "price", "of", "draw")
    for entry in entries:
        when = f"{entry.recorded_at:%Y-%m-%d %H:%M:%S}"
        of = entry.purpose or (f"per {entry.window_seconds} s" if entry.window_seconds else "")
        table.add_row(str(entry.sequence), when, entry.state.value, str(entry.price), of, entry.draw_id)
    console.print(table)


@app.command()
def convert(
    rho: Annotated[str | None, typer.Option(help="Which epsilon is this rho, at --delta?")] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="Which rho is this epsilon, at --delta? Without: of pure epsilon.")
    ] = None,
    delta: Annotated[str | None, typer.Option(help="Such as 1e-9; below 1 / N.")] = None,
    times: Annotated[int, typer.Option(min=1, help="Of so many such releases together, too.")] = 1,
    as_json: Json = False,
) -> None:
    """Translate between rho and an epsilon at a delta; what a draw of pure epsilon takes of a budget in rho."""
    given = {
        "rho": None if rho is None else _parse("--rho", rho, parse_epsilon),
        "epsilon": None if epsilon is None else _parse("--epsilon", epsilon, parse_epsilon),
        "delta": None if delta is None else _parse("--delta", delta, parse_delta),
    }
    found = translate(**given, times=times)
    if as_json:
        print(json.dumps(found.figures))
        return
    console.print("\n".join(found.sentences), markup=False)


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
        cap = account.cap and {
            account.currency.value: str(account.cap.price.amount),
            "window_seconds": account.cap.window_seconds,
        }
        print(json.dumps({"dataset": account.dataset, **figures, "cap": cap, **_describe_currency(account)}))
        return
    console.print(str(account), markup=False)


def _describe_currency(account: Account) -> dict[str, object]:
    """Return what the amounts are in; of rho also what they are as epsilons, rounded up."""
    if account.currency is Currency.EPSILON or account.delta is None:  # of rho, before its first grant
        return {"currency": account.currency.value}
    told = {name: account.tell_epsilon(getattr(account, name)) for name in ("granted", "committed")}
    return {"currency": account.currency.value, "delta": str(account.delta), "epsilon_at_delta": told}
