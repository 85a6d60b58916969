"""What a person sees: progress bars, marks, and errors without stack traces."""

from __future__ import annotations

import os
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bars

from vdr_spark.errors import VdrError
from vdr_spark.progress import Update

console = Console(highlight=False, soft_wrap=True)
_errors = Console(stderr=True, highlight=False, soft_wrap=True)
INTERRUPTED = 130  # the exit code that shells expect after Ctrl-C
_PLAIN_SECONDS = 15.0  # between two lines where there is no terminal to draw on


class ConsoleProgress:
    """Bars on a terminal; a line now and then where there is none, as in a cluster's log."""

    @contextmanager
    def task(self, title: str, total: float | None) -> Iterator[Update]:
        began = time.monotonic()
        if console.is_terminal:
            with _bars() as bars:
                number = bars.add_task(title, total=total, note="")
                yield lambda done, note: bars.update(number, completed=done, note=note)
        else:
            yield _lines(title, total)
        console.print(f"[green]✓[/green] {title} [dim]{time.monotonic() - began:.1f} s[/dim]")


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


def _lines(title: str, total: float | None) -> Update:
    last = time.monotonic()

    def update(done: float, note: str) -> None:
        nonlocal last
        if time.monotonic() - last > _PLAIN_SECONDS:
            last = time.monotonic()
            share = f"{done / total:.0%}" if total else ""
            console.print(f"  {title}: {share} {note}".rstrip())

    return update


def caution(text: str) -> None:
    _errors.print("[yellow]![/yellow] ", end="")
    _errors.print(text, markup=False)


def leave_on_interrupt() -> None:
    """Make Ctrl-C end the process at once, with a sentence.

    PySpark's own handler, and Python's, break into a conversation with Java and end in screens of traces. Every stage
    survives `kill -9`, so leaving without a goodbye is safe; the Java process ends with ours.
    """

    def leave(*_: object) -> None:
        print("\nInterrupted. The same command takes up where this one stopped.", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)

    signal.signal(signal.SIGINT, leave)


def run(command: Callable[[], object]) -> int:
    """Call a command; the exit code. A user's mistake is a sentence, a defect of ours keeps its trace."""
    # Libraries' warnings about their own future mean nothing to the person at the terminal.
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    try:
        command()
    except VdrError as problem:
        _errors.print(f"[bold red]Error[/bold red] ({type(problem).__name__}): ", end="")
        _errors.print(str(problem), markup=False)
        return 2
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
    return 0
