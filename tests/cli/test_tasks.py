"""The entry points that a scheduler calls: they return or raise, and never end the process."""

import signal
import sys
import threading
import tomllib
from importlib import import_module

import pytest

from tests.conftest import ROOT
from vdr_spark.cli import tasks
from vdr_spark.cli.console import leave_on_interrupt

ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]["vdr_spark.tasks"]


@pytest.mark.parametrize("name", ENTRY_POINTS)
def test_an_entry_point_is_the_command_of_its_name(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module, function = ENTRY_POINTS[name].split(":")
    monkeypatch.setattr(sys, "argv", ["a scheduler", "--help"])
    getattr(import_module(module), function)()  # exit code 0: it returns
    assert f"{name} [OPTIONS]" in capsys.readouterr().out


def test_a_mistake_is_an_exception_and_its_sentence_is_in_the_log(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["a scheduler", "nowhere.yaml"])
    with pytest.raises(tasks.TaskFailed, match="vdr audit ended with exit code 2") as failed:
        tasks.audit()
    assert failed.value.code == 2
    assert "no configuration file nowhere.yaml" in capsys.readouterr().err


def test_sessions_open_in_a_thread_too() -> None:
    """Where Python refuses to set a handler for Ctrl-C."""
    before, problems = signal.getsignal(signal.SIGINT), []

    def open_session() -> None:
        try:
            leave_on_interrupt()
        except ValueError as problem:
            problems.append(problem)

    thread = threading.Thread(target=open_session)
    thread.start()
    thread.join()
    assert not problems
    assert signal.getsignal(signal.SIGINT) is before
