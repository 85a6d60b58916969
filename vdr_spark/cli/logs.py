"""Where log lines go: set up by the command line only. As a library, VDR logs and configures nothing.

A person at a terminal sees bars, and log lines for what to be careful with. Anywhere else, as in a cluster's log, the
lines are all there is: text, or one JSON object per line for a machine (`--log-format json`, or VDR_LOG_FORMAT).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer
from rich.console import Console

from vdr_spark.errors import InvalidConfig

LOGGER = logging.getLogger("vdr_spark")
# What a line may carry beside its words, and nothing else: a field is the easiest way for data into a log.
FIELDS = ("stage", "task", "share", "seconds", "remaining", "error")
_VARIABLE = "VDR_LOG_FORMAT"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


class JsonLines(logging.Formatter):
    """One JSON object per record: time, level, logger, message, and such of `FIELDS` as it has."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _time_of(record),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        line |= {name: getattr(record, name) for name in FIELDS if hasattr(record, name)}
        return json.dumps(line, ensure_ascii=False)


class TextLines(logging.Formatter):
    """Time, level and message, as a cluster's log has them."""

    def format(self, record: logging.LogRecord) -> str:
        return f"{_time_of(record)} {record.levelname} {_printable(record)}"


class TerminalHandler(logging.Handler):
    """Marks instead of levels and times, above whatever bar is being drawn."""

    def __init__(self) -> None:
        super().__init__()
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)

    def emit(self, record: logging.LogRecord) -> None:
        mark = {"ERROR": "[bold red]Error[/bold red]", "WARNING": "[yellow]![/yellow]"}.get(record.levelname, " ")
        error = getattr(record, "error", None)
        self._console.print(mark + (f" ({error}): " if error else " "), end="")
        self._console.print(_printable(record), markup=False)


class StderrHandler(logging.StreamHandler[Any]):
    """Writes to what `sys.stderr` is at that moment."""

    def emit(self, record: logging.LogRecord) -> None:
        self.stream = sys.stderr
        super().emit(record)


def _printable(record: logging.LogRecord) -> str:
    """Return the message with control characters spelt out: a name of somebody's must not clear the screen."""
    text = record.getMessage()
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _time_of(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")


def configure_logs(log_format: LogFormat, verbose: bool = False) -> None:
    """Send VDR's log lines to standard error, in place of where they were sent before."""
    remove_logs()
    terminal = log_format is LogFormat.TEXT and sys.stderr.isatty()
    handler: logging.Handler = TerminalHandler() if terminal else StderrHandler()
    handler.setFormatter(JsonLines() if log_format is LogFormat.JSON else TextLines())
    handler.set_name(__name__)
    LOGGER.addHandler(handler)
    LOGGER.propagate = False  # or a cluster's own handler would say everything twice
    handler.setLevel(logging.DEBUG if verbose else logging.WARNING if terminal else logging.INFO)
    LOGGER.setLevel(logging.DEBUG if verbose else logging.INFO)  # a run's record has what a terminal is spared


def remove_logs() -> None:
    """Leave the logger as the library has it."""
    for handler in [handler for handler in LOGGER.handlers if handler.get_name() == __name__]:
        LOGGER.removeHandler(handler)
    LOGGER.propagate = True
    LOGGER.setLevel(logging.NOTSET)


def take_log_options(arguments: list[str]) -> tuple[LogFormat, bool, list[str]]:
    """Return the format, whether to be verbose, and the arguments without these options.

    They belong to no command, so they may stand anywhere: behind `jobs/collect.py` too, which is one command only.
    """
    parser = argparse.ArgumentParser(prog="vdr", add_help=False, allow_abbrev=False)
    parser.add_argument("--log-format", default=None)
    parser.add_argument("--verbose", action="store_true")
    options, rest = parser.parse_known_args(arguments)
    source, name = "--log-format", options.log_format
    if name is None:
        source, name = _VARIABLE, os.environ.get(_VARIABLE) or LogFormat.TEXT
    if name not in list(LogFormat):
        raise InvalidConfig(f"{source}: must be text or json, received {name!r}")
    return LogFormat(name), options.verbose, rest


def show_log_options(
    _format: Annotated[
        str,
        typer.Option("--log-format", metavar="text|json", help=f"Of lines on standard error; also by {_VARIABLE}."),
    ] = LogFormat.TEXT,
    _verbose: Annotated[bool, typer.Option("--verbose", help="Log every step, also at a terminal.")] = False,
) -> None:
    """Say in `vdr --help` that these options exist; `take_log_options` has taken them by then."""
