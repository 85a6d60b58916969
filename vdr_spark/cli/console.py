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
from vdr_spark.cli.progress_lines import progress_lines
from vdr_spark.cli.run_record import end_record
from vdr_spark.errors import Declined, ExitCode, VdrError
from vdr_spark.packages import explain_missing_packages
from vdr_spark.progress import Update
from vdr_spark.storage.free_space import explain_full_disk

logger = logging.getLogger(__name__)


class _Output(Console):
    """Standard output, which may be closed before the end, as by `| head`."""

    def on_broken_pipe(self) -> None:
        """End with a code that says so: what was done is done, and the same command takes up the rest."""
        try:
            super().on_broken_pipe()  # lets what is still to be flushed go nowhere
        except SystemExit:
            raise SystemExit(ExitCode.UNREAD) from None


console = _Output(highlight=False, soft_wrap=True)


class ConsoleProgress:
    """Bars on a terminal; a log line now and then where there is none, as in a cluster's log."""

    @contextmanager
    def task(self, title: str, total: float | None) -> Iterator[Update]:
        if console.is_terminal:
            began = time.monotonic()
            with _bars() as bars:
                number = bars.add_task(title, total=total, note="")
                yield lambda done, note: bars.update(number, completed=done, note=note)
            console.print(f"[green]✓[/green] {title} [dim]{time.monotonic() - began:.1f} s[/dim]")
        else:
            with progress_lines(title, total) as update:
                yield update


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


def say_skipped(stage: str) -> None:
    """Tell the person at the terminal that a stage had nothing to do; elsewhere its log line says so."""
    if console.is_terminal:
        console.print(f"  [dim]{stage}: complete already, nothing was done[/dim]")


def say_window(series: str, window: str, number: int, of: int) -> None:
    """Say which window of a series begins: at a terminal by a line above its bars, elsewhere by a log line."""
    text = f"window {window} of series {series} ({number} of {of})"
    logger.info(text)
    if console.is_terminal:
        console.print(f"[bold]{text}[/bold]")


def caution(text: str) -> None:
    """Say what to be careful with."""
    logger.warning(text)


def somebody_is_there() -> bool:
    """Whether there is a terminal, and so a person who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def ask_to_go_on() -> bool:
    """Ask the person at the terminal, who was told why; where there is none, go on: the log has it."""
    if not somebody_is_there():
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
        os._exit(ExitCode.INTERRUPTED)

    # A scheduler may call us in another thread, where Python gives nobody a signal.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, leave)


def run(command: Callable[[list[str]], object], arguments: list[str]) -> int:
    """Call a command and return its exit code. A user's mistake is a sentence, a defect of ours keeps its trace."""
    # Libraries' warnings about their own future mean nothing to the person at the terminal.
    warnings.filterwarnings("ignore", category=FutureWarning)
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    code, defect = int(ExitCode.DEFECT), None
    try:
        code = _call(command, arguments)
    except Exception as problem:
        defect = type(problem).__name__  # its words may quote a row
        raise
    finally:
        end_record(code, defect)
        remove_logs()
        sys.stdout.flush()
    return code


def _call(command: Callable[[list[str]], object], arguments: list[str]) -> int:
    """Call a command under the log options; return the exit code, having said in a sentence why it is not 0."""
    try:
        configure_logs(LogFormat.TEXT)  # for what may be wrong with the options themselves
        log_format, verbose, rest = take_log_options(arguments)
        configure_logs(log_format, verbose)
        with explain_missing_packages(), explain_full_disk(lambda: ()):
            command(rest)
    except Declined as answer:
        logger.warning(str(answer))
        return answer.exit_code
    except VdrError as problem:
        logger.error(str(problem), extra={"error": type(problem).__name__})
        return problem.exit_code
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else ExitCode.DEFECT
    return ExitCode.DONE
