"""What is asked of a remote session before anything is reserved there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from vdr_spark.config.settings import SparkSettings
from vdr_spark.errors import EnvironmentProblem, InvalidConfig
from vdr_spark.spark import session
from vdr_spark.spark.remote import is_remote, require_same_disk

Look = Callable[[str], list[str]]


class Reader:
    """Reads lines of a text file, as a server sees it."""

    def __init__(self, look: Look) -> None:
        self._look = look

    def option(self, *_: str) -> Reader:
        return self

    def text(self, path: str) -> Any:
        return SimpleNamespace(collect=lambda: [SimpleNamespace(value=line) for line in self._look(path)])


def remote(look: Look) -> Any:
    kind = type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})
    spark: Any = kind()
    spark.read = Reader(look)
    return spark


def read_lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def fail(_: str) -> list[str]:
    raise AnalysisException("[PATH_NOT_FOUND] there is nothing")


def test_a_session_is_known_by_its_kind() -> None:
    assert is_remote(remote(read_lines))
    assert not is_remote(SimpleNamespace())  # type: ignore[arg-type]


def test_a_folder_that_both_see_is_taken_and_left_as_it_was(tmp_path: Path) -> None:
    session.require_local_paths(remote(read_lines), str(tmp_path / "out"), "s3://bucket/ledger")
    assert not list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("look", [fail, lambda _: [], lambda _: ["another word"]], ids=["none", "empty", "other"])
def test_a_folder_of_this_machine_alone_is_refused(tmp_path: Path, look: Look) -> None:
    with pytest.raises(InvalidConfig, match="the Spark Connect server does not read what is written there"):
        require_same_disk(remote(look), str(tmp_path))
    assert not list(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentProblem, match="cannot be written to"):
        require_same_disk(remote(read_lines), f"{tmp_path}/file/out")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (PySparkException("[NO_ANSWER] anna"), "does not answer .PySparkException.; start it"),
        (
            ImportError("No module named 'grpc'", name="grpc"),
            r"lacks a package .grpc.*vdr-spark\[connect\]",
        ),
    ],
)
def test_a_server_that_is_named_and_not_reached(
    monkeypatch: pytest.MonkeyPatch, problem: Exception, words: str
) -> None:
    def refuse(_: object) -> None:
        raise problem

    monkeypatch.setenv("SPARK_REMOTE", "sc://127.0.0.1:1")
    monkeypatch.setattr(SparkSession.Builder, "getOrCreate", refuse)
    with pytest.raises(EnvironmentProblem, match=words):
        session._start(SparkSettings(), "test", small=False)
