"""Log lines: sentences for people, JSON for machines, nothing set up by the library."""

import json
import logging
import re
import sys
from collections.abc import Callable

import pytest

from tests.cli.test_app import call
from tests.conftest import ROOT
from vdr_spark.cli.console import ConsoleProgress, run
from vdr_spark.cli.logs import LOGGER, LogFormat, TerminalHandler, TextLines, configure_logs
from vdr_spark.stage_log import run_logged

LIKE_A_ROW = {"user_id": "anna", "seconds": 1.5}


def lines(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_a_stage_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    def command(_: list[str]) -> None:
        configure_logs(LogFormat.JSON)
        assert run_logged("collect", lambda: True)
        assert not run_logged("denoise", lambda: False)

    assert run(command, []) == 0
    begin, end, _, skipped = lines(capsys.readouterr().err)
    assert {"time", "level", "logger", "message", "stage"} == set(begin)
    assert (begin["level"], begin["logger"], begin["message"]) == ("INFO", "vdr_spark.stage_log", "collect: begins")
    assert end["stage"] == "collect"
    assert isinstance(end["seconds"], float)
    assert "complete already" in str(skipped["message"])


def test_a_failed_stage_is_logged_without_its_words(caplog: pytest.LogCaptureFixture) -> None:
    def fails() -> bool:
        raise ValueError("row 7 of anna")

    caplog.set_level(logging.DEBUG)
    with pytest.raises(ValueError, match="anna"):
        run_logged("collect", fails)
    assert "ended by ValueError" in caplog.text
    assert "anna" not in caplog.text


def test_only_known_fields_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    def command(_: list[str]) -> None:
        configure_logs(LogFormat.JSON)
        LOGGER.warning("careful", extra=LIKE_A_ROW)

    run(command, [])
    (line,) = lines(capsys.readouterr().err)
    assert line["seconds"] == 1.5
    assert "anna" not in str(line)


def test_progress_without_a_terminal_is_logged(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vdr_spark.cli.progress_lines._EVERY_S", -1.0)

    def command(_: list[str]) -> None:
        with ConsoleProgress().task("collect: count", 4) as update:
            update(1, "Spark stage 1")

    run(command, [])
    printed = capsys.readouterr()
    assert printed.out == ""
    half, end = printed.err.splitlines()
    assert half.endswith(" INFO collect: count: 25%, Spark stage 1, 0 s so far, about 0 s to go")
    assert " INFO collect: count: done in" in end


@pytest.mark.parametrize("position", ["first", "before", "after", "joined", "environment"])
def test_the_format_may_be_said_anywhere(
    position: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options, conf = ["--log-format", "json"], "nowhere.yaml"
    if position == "environment":
        monkeypatch.setenv("VDR_LOG_FORMAT", "json")
    words = {
        "first": [*options, "explain", conf],
        "before": ["explain", *options, conf],
        "after": ["explain", conf, *options],
        "joined": ["explain", conf, "--log-format=json"],
        "environment": ["explain", conf],
    }
    assert call(*words[position]) == 2
    (line,) = lines(capsys.readouterr().err)
    assert (line["level"], line["error"]) == ("ERROR", "InvalidConfig")
    assert "nowhere.yaml" in str(line["message"])


def test_help_names_the_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("--help") == 0
    printed = capsys.readouterr().out
    assert "--log-format" in printed
    assert "--verbose" in printed


def test_subcommands_take_it_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("query", "range", str(ROOT / "conf/demo.yaml"), "--at", "here", "--log-format", "json") == 2
    assert len(lines(capsys.readouterr().err)) == 1


@pytest.mark.parametrize(("option", "variable"), [("xml", "text"), (None, "xml")])
def test_another_format_is_a_sentence(
    option: str | None, variable: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VDR_LOG_FORMAT", variable)
    assert call("explain", "nowhere.yaml", *(["--log-format", option] if option else [])) == 2
    assert "must be text or json, received 'xml'" in capsys.readouterr().err


@pytest.mark.parametrize(("verbose", "expected"), [([], 0), (["--verbose"], 1)])
def test_verbose_shows_details(
    verbose: list[str], expected: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vdr_spark.explain.explain", lambda _: LOGGER.debug("a detail") or "")
    assert call("explain", str(ROOT / "conf/demo.yaml"), *verbose, "--log-format", "json") == 0
    assert capsys.readouterr().err.count("a detail") == expected


def test_afterwards_the_logger_is_as_the_library_has_it() -> None:
    run(lambda _: None, [])
    assert (LOGGER.handlers, LOGGER.propagate, LOGGER.level) == ([], True, logging.NOTSET)


def test_the_library_configures_nothing() -> None:
    sources = set((ROOT / "vdr_spark").rglob("*.py")) - set((ROOT / "vdr_spark/cli").rglob("*.py"))
    assert len(sources) > 100
    for source in sources:
        assert not re.search(r"addHandler|basicConfig|dictConfig|fileConfig|setLevel", source.read_text()), source


def test_the_terminal_shows_words_of_others_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """Square brackets are markup only where they are ours."""
    record = logging.makeLogRecord(
        {"levelname": "ERROR", "error": "Busy", "msg": "a folder [/bold] and [red]one[/red]"}
    )
    TerminalHandler().emit(record)
    assert capsys.readouterr().err == "Error (Busy): a folder [/bold] and [red]one[/red]\n"


@pytest.mark.parametrize(
    "write", [TerminalHandler().emit, lambda record: print(TextLines().format(record), file=sys.stderr)]
)
def test_control_characters_are_spelt_out(write: Callable[..., None], capsys: pytest.CaptureFixture[str]) -> None:
    write(logging.makeLogRecord({"levelname": "WARNING", "msg": "a folder \x1b[2J\r of\nNürnberg"}))
    assert capsys.readouterr().err.endswith("a folder \\x1b[2J\\r of\nNürnberg\n")
