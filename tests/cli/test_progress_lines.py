"""Progress where there is no terminal: a line now and then, with how far, since when and for how long yet."""

import logging

import pytest

from vdr_spark.cli import progress_lines as module
from vdr_spark.cli.progress_lines import ProgressLines, format_seconds, guess_remaining, progress_lines


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture) -> pytest.LogCaptureFixture:
    caplog.set_level(logging.INFO)
    return caplog


def test_every_half_minute_also_while_the_work_says_nothing(said: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lines = ProgressLines("denoise: reconcile sums", None, clock)
    for clock.now in (101.0, 120.0, 129.9, 130.0, 131.0, 159.0, 161.0):
        lines.say_if_due()
    assert said.messages == [
        "denoise: reconcile sums: 30 s so far",
        "denoise: reconcile sums: 61 s so far",
    ]
    assert said.records[0].__dict__["share"] is None


def test_a_tenth_of_the_work_is_worth_a_line_too(said: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lines = ProgressLines("collect: count", 200.0, clock)
    for clock.now, done in ((102.0, 30.0), (106.0, 32.0), (107.0, 50.0), (112.0, 55.0), (113.0, 180.0)):
        lines.update(done, "Spark stage 3")
    assert said.messages == [
        "collect: count: 16%, Spark stage 3, 6 s so far, about 32 s to go",
        "collect: count: 28%, Spark stage 3, 12 s so far, about 32 s to go",
    ]
    assert (said.records[1].__dict__["share"], said.records[1].__dict__["remaining"]) == (0.275, 32)


def test_what_is_done_is_told_as_done_only(said: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    lines = ProgressLines("publish", 1.0, clock)
    clock.now = 190.0
    lines.update(1.0, "")
    lines.end()
    assert said.messages == ["publish: done in 90.0 s"]


def test_a_guess_is_made_where_enough_is_done() -> None:
    assert guess_remaining(0.01, 60) is None
    assert guess_remaining(0.25, 60) == 180
    assert [format_seconds(seconds) for seconds in (0.4, 119, 120, 7199, 9000)] == [
        "0 s",
        "119 s",
        "2 min",
        "120 min",
        "2.5 h",
    ]


def test_somebody_looks_at_the_clock(said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a long step runs that calls nobody."""
    monkeypatch.setattr(module, "_LOOK_S", 0.01)
    monkeypatch.setattr(module, "_EVERY_S", 0.02)
    with progress_lines("denoise: fit", None):
        for _ in range(500):
            if said.messages:
                break
            module.time.sleep(0.01)
        assert said.messages[0].startswith("denoise: fit: 0 s so far")
    assert said.messages[-1].startswith("denoise: fit: done in")


def test_what_fails_is_not_told_as_done(said: pytest.LogCaptureFixture) -> None:
    with pytest.raises(ValueError, match="no"), progress_lines("collect", 1.0):
        raise ValueError("no")
    assert said.messages == []
