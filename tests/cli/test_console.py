"""Whoever sits at a terminal is asked; where nobody does, nothing waits for an answer."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.cli.test_app import call
from tests.conftest import ROOT
from vdr_spark.cli.console import ask_to_go_on, console, run, say_window
from vdr_spark.errors import Declined, ExitCode


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def sit_down(monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO, stderr: io.StringIO) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    monkeypatch.setattr(sys, "stderr", stderr)


def test_a_person_sees_which_window_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Terminal()
    monkeypatch.setattr(console, "_file", screen)
    monkeypatch.setattr(console, "_force_terminal", True)
    say_window("city", "2020-W03", 2, 4)
    assert "window 2020-W03 of series city (2 of 4)" in screen.getvalue()


@pytest.mark.parametrize(
    ("typed", "answer"),
    [("y\n", True), ("Yes\n", True), ("n\n", False), ("\n", False), ("", False), ("yesterday\n", False)],
)
def test_only_a_yes_is_one(monkeypatch: pytest.MonkeyPatch, typed: str, answer: bool) -> None:
    screen = Terminal()
    sit_down(monkeypatch, Terminal(typed), screen)
    assert ask_to_go_on() is answer
    assert screen.getvalue() == "Go on? [y/N] "


@pytest.mark.parametrize(
    ("stdin", "stderr"), [(io.StringIO("n\n"), Terminal()), (Terminal("n\n"), io.StringIO())], ids=["piped", "logged"]
)
def test_without_a_terminal_nobody_is_asked(
    monkeypatch: pytest.MonkeyPatch, stdin: io.StringIO, stderr: io.StringIO
) -> None:
    sit_down(monkeypatch, stdin, stderr)
    assert ask_to_go_on() is True
    assert stderr.getvalue() == ""
    assert stdin.tell() == 0  # nothing was read


def test_a_no_is_a_sentence_and_no_error(capsys: pytest.CaptureFixture[str]) -> None:
    def command(_: list[str]) -> None:
        raise Declined("not collected, as you said")

    assert run(command, []) == 2
    printed = capsys.readouterr().err
    assert "WARNING not collected, as you said" in printed
    assert "ERROR" not in printed


@pytest.mark.parametrize(
    ("command", "options", "asks"),
    [
        ("collect", [], True),
        ("release", [], True),
        ("collect", ["--yes"], False),
        ("release", ["--yes"], False),
        ("denoise", [], False),
    ],
)
def test_a_command_that_draws_noise_asks_unless_it_is_told_not_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, command: str, options: list[str], asks: bool
) -> None:
    made = []

    class Stages:
        def __init__(self, *_: object, confirm: Callable[[], bool]) -> None:
            made.append(confirm)

        def prepare(self, _: object) -> None:
            pass

        def run(self, _: str) -> bool:
            raise Declined("far enough")

    monkeypatch.setattr("vdr_spark.pipeline.Pipeline", Stages)
    monkeypatch.setattr("vdr_spark.cli.stages.open_spark", lambda *_: SimpleNamespace(version="", conf={}))
    monkeypatch.chdir(tmp_path)
    sit_down(monkeypatch, Terminal("n\n"), Terminal())
    assert call(command, str(ROOT / "conf/demo.yaml"), *options) == 2
    (confirm,) = made
    assert confirm() is not asks


def test_a_reader_who_leaves_ends_the_command_with_a_code_and_no_trace() -> None:
    """As in `vdr explain CONF | head -1`."""
    command = "console.print('a line' * 100_000), print('never reached')"
    script = f"import sys; from vdr_spark.cli.console import console, run; sys.exit(run(lambda _: ({command}), []))"
    nobody, stdout = os.pipe()
    os.close(nobody)
    with os.fdopen(stdout, "wb") as pipe:
        ended = subprocess.run([sys.executable, "-c", script], stdout=pipe, stderr=subprocess.PIPE, check=False)
    assert (ended.returncode, ended.stderr) == (ExitCode.UNREAD, b"")
