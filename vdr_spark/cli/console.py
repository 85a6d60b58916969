"""What a person sees: progress bars, marks, and errors without stack traces."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from vdr_spark.cli.logs import LogFormat, configure_logs, remove_logs, take_log_options
from vdr_spark.errors import Declined, VdrError
from vdr_spark.packages import explain_missing_packages
from vdr_spark.progress import Update

logger = logging.getLogger(__name__)
console = Console(highlight=False, soft_wrap=True)
INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C
_PLAIN_SECONDS = 15.0  # between two lines where there is no terminal to draw on


class ConsoleProgress:
    """Bars on a terminal; a log line now and then where there is none, as in a cluster's log."""

    @contextmanager
    def task(self, title: str, total: float | None) -> Iterator[Update]:
        began = time.monotonic()
        if console.is_terminal:
            with _bars() as bars:
                number = bars.add_task(title, total=total, note="")
                yield lambda done, note: bars.update(number, completed=done, note=note)
            console.print(f"[green]✓[/green] {title} [dim]{time.monotonic() - began:.1f} s[/dim]")
        else:
            yield _log_lines(title, total)
            seconds = round(time.monotonic() - began, 3)
            logger.info("%s: done in %.1f s", title, seconds, extra={"task": title, "seconds": seconds})


def _bars() -> Bars:
    return Bars(
        TextColumn("  {task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TextColumn("[dim]{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
    )


def _log_lines(title: str, total: float | None) -> Update:
    last = time.monotonic()

    def update(done: float, note: str) -> None:
        nonlocal last
        if time.monotonic() - last > _PLAIN_SECONDS:
            last = time.monotonic()
            share = round(done / total, 3) if total else None
            words = [f"{title}:", f"{share:.0%}" if share is not None else "", note]
            logger.info(" ".join(filter(None, words)), extra={"task": title, "share": share})

    return update


def say_skipped(stage: str) -> None:
    """Tell the person at the terminal that a stage had nothing to do; elsewhere its log line says so."""
    if console.is_terminal:
        console.print(f"  [dim]{stage}: complete already, nothing was done[/dim]")


def caution(text: str) -> None:
    """Say what to be careful with."""
    logger.warning(text)


def ask_to_go_on() -> bool:
    """Ask the person at the terminal, who was told why; where there is none, go on: the log has it."""
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        return True
    print("Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def leave_on_interrupt() -> None:
    """Make Ctrl-C end the process at once, with a sentence.

    PySpark's own handler, and Python's, break into a conversation with Java and end in screens of traces. Every stage
    survives `kill -9`, so leaving without a goodbye is safe; the Java process ends with ours.
    """

    def leave(*_: object) -> None:
        print("\nInterrupted. The same command takes up where this one stopped.", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    # A scheduler may call us in another thread, where Python gives nobody a signal.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, leave)


def run(command: Callable[[list[str]], object], arguments: list[str]) -> int:
    """Call a command and return its exit code. A user's mistake is a sentence, a defect of ours keeps its trace."""
    # Libraries' warnings about their own future mean nothing to the person at the terminal.
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    try:
        configure_logs(LogFormat.TEXT)  # for what may be wrong with the options themselves
        log_format, verbose, rest = take_log_options(arguments)
        configure_logs(log_format, verbose)
        with explain_missing_packages():
            command(rest)
    except Declined as answer:
        logger.warning(str(answer))
        return 2
    except VdrError as problem:
        logger.error(str(problem), extra={"error": type(problem).__name__})
        return 2
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        remove_logs()
        sys.stdout.flush()
    return 0
