"""`vdr explore` serves a published release on this machine, without Spark, and refuses what is not to be looked at."""

import json
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_app import call
from tests.cli.test_query import arguments as arguments
from tests.release.published import withdraw
from vdr_spark import read_release
from vdr_spark.cli import explore
from vdr_spark.explore.serve import Explorer
from vdr_spark.explore.shelf import shelf_of
from vdr_spark.release.release import Release


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    """What the page was told, by a server that ends as soon as it was asked once."""
    answers: list[dict[str, object]] = []

    def serve_once(
        release: Release, port: int, backdrop: Path | None, withdrawn_too: bool, opened: Callable[[str], None]
    ) -> None:
        explorer = Explorer(shelf_of(release, withdrawn_too), port, backdrop)
        opened(explorer.url)
        with urllib.request.urlopen(f"{explorer.url}api/meta") as response:
            answers.append(json.load(response))
        explorer.close()

    monkeypatch.setattr(explore, "serve", serve_once)
    return answers


def test_the_release_of_the_configuration_is_served(
    arguments: list[str], tmp_path: Path, asked: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("explore", *arguments, "--no-browser") == 0
    printed = capsys.readouterr().out
    assert "http://127.0.0.1:" in printed
    assert "Only this machine can open it" in printed
    assert asked[0]["release"]["id"] == read_release(str(tmp_path / "out")).release_id  # type: ignore[index]


def test_a_withdrawn_release_is_refused_unless_a_steward_asks(
    arguments: list[str], tmp_path: Path, asked: list[dict[str, object]], capsys: pytest.CaptureFixture[str]
) -> None:
    withdraw(tmp_path / "out", read_release(str(tmp_path / "out")).release_id)
    assert call("explore", *arguments, "--no-browser") == 2
    assert "was withdrawn on" in capsys.readouterr().err
    assert asked == []
    assert call("explore", *arguments, "--no-browser", "--withdrawn-too") == 0
    assert str(asked[0]["release"]["withdrawn"]).startswith("WITHDRAWN")  # type: ignore[index]


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (["--port", "70000"], "--port must be 1 to 65535"),
        (["--backdrop", "none.geojson"], "--backdrop must be a file that can be read"),
        (["--release", "another"], "release another is not published"),
    ],
)
def test_a_mistake_is_a_sentence(
    wish: list[str], words: str, arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("explore", *arguments, "--no-browser", *wish) == 2
    assert words in capsys.readouterr().err
