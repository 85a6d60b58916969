"""`vdr series`, and `vdr release` of windows: whichever are due, in order, each an ordinary release."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from vdr_spark.cli.console import ask_to_go_on, console, say_window
from vdr_spark.cli.options import Conf, Json, Overrides, open_any_window, open_spark
from vdr_spark.cli.run_record import end_record
from vdr_spark.cli.stages import run_stages
from vdr_spark.config.file import read_settings
from vdr_spark.errors import Declined, ExitCode, InvalidConfig
from vdr_spark.stage_log import RELEASE_STAGES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from vdr_spark.privacy.entries import Entry
    from vdr_spark.series.status import SeriesStatus, WindowStatus

logger = logging.getLogger(__name__)

app = typer.Typer(help="Releases that belong together, window after window.", no_args_is_help=True)


@dataclass(frozen=True)
class Wish:
    """Which windows a command asks for."""

    windows: tuple[str, ...] = ()
    next: bool = False
    until: str | None = None
    correct: str | None = None

    @property
    def is_given(self) -> bool:
        return bool(self.windows or self.next or self.until or self.correct)


@app.command()
def status(conf: Conf, overrides: Overrides = None, as_json: Json = False) -> None:
    """What is published, due or missing, what was spent, what is left and until when it lasts. Without Spark."""
    from vdr_spark.series.standing import read_status

    config = open_any_window(conf, overrides)
    found, _, _ = read_status(config, lambda: open_spark(config, "series"))
    if as_json:
        print(json.dumps(found.as_dict(), indent=2))
        return
    _print(found)


@app.command("sql")
def show_sql(
    conf: Conf,
    engine: Annotated[str, typer.Option(metavar="NAME", help="spark, databricks, duckdb or trino.")] = "spark",
    schema: Annotated[
        str | None, typer.Option(metavar="CATALOG.SCHEMA", help="Of the views. Default: where the tables are.")
    ] = None,
    prefix: Annotated[str, typer.Option(metavar="TEXT", help="Put before the views' names.")] = "",
    overrides: Overrides = None,
) -> None:
    """Print the views `windows` and `series_cells` as SQL: all windows that may be used, and their cells, each once."""
    from vdr_spark.plan import make_plan
    from vdr_spark.release.sql_functions import series_views

    output = make_plan(open_any_window(conf, overrides)).output
    for statement in series_views(output, engine, schema or output.schema, prefix):
        print(f"{statement};\n")


@app.command()
def stream(
    conf: Conf,
    until: Annotated[
        str, typer.Option(metavar="DAY", help="All windows that are due then: `today`, or a day.")
    ] = "today",
    overrides: Overrides = None,
) -> None:
    """Read what came into the Delta table of pings since the last time, and release the windows that are due.

    By Structured Streaming with `availableNow`: it ends when all that came is read. Safe to start again after a crash.
    """
    from vdr_spark.series.stream import follow, require_stream

    config = open_any_window(conf, overrides)
    require_stream(config)
    spark = open_spark(config, "series")
    wish = Wish(until=until)
    follow(spark, config, lambda: release_windows(conf, overrides or [], wish, ask=False, dry=False, spark=spark))


def release_windows(
    conf: Path, overrides: Sequence[str], wish: Wish, ask: bool, dry: bool, spark: SparkSession | None = None
) -> None:
    """Release the windows that are asked for, in order; all that can be refused is refused before the first begins."""
    from vdr_spark.series.standing import read_status

    config = open_any_window(conf, [*overrides])
    _require_one_window(read_settings(conf, overrides).get("window"), wish)
    now = datetime.now(UTC)
    found, entries, records = read_status(config, lambda: open_spark(config, "series"), now)
    from vdr_spark.series.turn import require_budget, require_same_settings

    require_same_settings(found, records)
    chosen = _choose(found, wish, now)
    if not chosen:
        console.print(_describe_nothing(found), markup=False)
        return
    require_budget(found, chosen, entries, wish.correct)
    if len(chosen) > 1:
        _announce(found, chosen, entries, ask and not dry)
    for number, one in enumerate(chosen, start=1):
        say_window(found.name, one.window.name, number, len(chosen))
        settings = [*overrides, f"window={one.window.name}"]
        settings += [] if wish.correct is None else [f"correction={json.dumps(wish.correct)}"]
        run_stages("release", RELEASE_STAGES, conf, settings, ask and len(chosen) == 1, dry, spark)
        end_record(ExitCode.DONE)


def _require_one_window(given: object, wish: Wish) -> None:
    """Refuse a window of the configuration beside another one, or a range, of the command: one of them is a slip."""
    if given is not None and wish.windows != (str(given),):
        raise InvalidConfig(
            f"window is set to {given}, in the configuration or by --set, and the command asks for windows by itself; "
            "leave the setting out, or say --window with the same name. Nothing was reserved"
        )


def _choose(found: SeriesStatus, wish: Wish, now: datetime) -> list[WindowStatus]:
    from vdr_spark.series import turn

    ways = (bool(wish.windows), wish.next, wish.until is not None)
    if sum(ways) != 1 or len(wish.windows) > 1:
        raise InvalidConfig(
            "give one of --window (one window), --next (the first that is due) and --until (all that are due); for "
            f"several windows say --until (received {', '.join(wish.windows) or 'no window'}"
            f"{', --next' if wish.next else ''}{f', --until {wish.until}' if wish.until else ''})"
        )
    if wish.correct is not None:
        if not wish.windows:
            raise InvalidConfig("--correct is of one window that is published; name it with --window")
        chosen = found.find(wish.windows[0])
        turn.require_correction(found, chosen, wish.correct)
        return [chosen]
    if wish.windows:
        return turn.choose_named(found, wish.windows[0])
    if wish.until is None:
        return turn.choose_next(found)
    return turn.choose_until(found, turn.read_until(wish.until, found.schedule.calendar.zone, now))


def _announce(found: SeriesStatus, chosen: Sequence[WindowStatus], entries: Sequence[Entry], ask: bool) -> None:
    """Say what several windows will cost together, and ask once for all of them."""
    from vdr_spark.series.status import cost_of, format_price

    account = found.account
    cost = cost_of([found.plan(one.window) for one in chosen], entries, account.currency)
    logger.warning(
        "%d windows of series %s are to be released, %s to %s: %s is to be spent for all of them, and %s is left then. "
        "%s",
        len(chosen),
        found.name,
        chosen[0].window.name,
        chosen[-1].window.name,
        format_price(account, cost),
        account.remaining - cost,
        found.schedule.meaning(found.config.privacy.delta),
    )
    if ask and not ask_to_go_on():
        raise Declined("not released, as you said: nothing was reserved, read or spent")


def _describe_nothing(found: SeriesStatus) -> str:
    """Say when the first window is due that is not done; that may be past, where an earlier day was asked for."""
    calendar, (first, due) = found.schedule.calendar, found.coming
    if found.unpublished:
        first, due = found.unpublished[0].window, calendar.due_at(found.unpublished[0].window)
    until = ", as of that day" if found.unpublished else ""
    return (
        f"Series {found.name}: nothing is due that is not published{until}. Window {first.name} is due on "
        f"{due:%Y-%m-%d %H:%M} ({calendar.zone})."
    )


def _print(found: SeriesStatus) -> None:
    from vdr_spark.series.table import describe_status, list_rows

    table = Table("window", "from", "until", "state", f"spent ({found.account.currency})")
    for row in list_rows(found):
        table.add_row(*row)
    console.print(table)
    console.print("\n".join(describe_status(found)), markup=False)
