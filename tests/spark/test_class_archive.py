"""Java's class archive: made once for a Java and its jars, used while they are as they were, and never in the way."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vdr_spark.spark import class_archive
from vdr_spark.spark.class_archive import archive_options

JAVA = 'openjdk version "17.0.15" 2025-04-15'
MAKE, USE = "-XX:ArchiveClassesAtExit=", "-XX:SharedArchiveFile="


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    jar = tmp_path / "spark.jar"
    jar.write_bytes(b"classes")
    return jar


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "ivy").mkdir()
    return tmp_path / "ivy"


def make(folder: Path, jar: Path, java: str = JAVA) -> Path:
    """Write what Java would on leaving."""
    (option,) = archive_options(folder, java, [jar], may_make=True)
    assert option.startswith(MAKE)
    archive = Path(option.removeprefix(MAKE))
    archive.write_bytes(b"\xf0whole")
    return archive


def test_it_is_made_once_and_then_used(folder: Path, jar: Path) -> None:
    archive = make(folder, jar)
    for may_make in (True, False):
        assert archive_options(folder, JAVA, [jar], may_make) == [f"{USE}{archive}"]
    assert [file.name for file in folder.iterdir()] == [archive.name]  # what was left of tries is gone


def test_long_sessions_use_one_and_make_none(folder: Path, jar: Path) -> None:
    assert archive_options(folder, JAVA, [jar], may_make=False) == []
    assert not list(folder.iterdir())


def test_another_java_or_jar_has_another(folder: Path, jar: Path) -> None:
    archive = make(folder, jar)
    assert make(folder, jar, JAVA.replace("17.0.15", "21.0.1")) != archive
    jar.write_bytes(b"newer classes")
    assert make(folder, jar) != archive


def test_half_a_file_is_not_used_and_not_tried_for_ever(folder: Path, jar: Path) -> None:
    """Java writes the header, which begins with a number, at the end: a process that was killed leaves zeros there."""
    archive = make(folder, jar)
    archive.write_bytes(bytes(4) + b"half")
    tries = [archive_options(folder, JAVA, [jar], may_make=True) for _ in range(5)]
    assert tries[0] == [f"{MAKE}{archive}"]
    assert tries[-1] == []


def test_old_ones_are_thrown_away(folder: Path, jar: Path) -> None:
    made = []
    for number in range(5):
        made.append(make(folder, jar, JAVA.replace("17.0.15", f"17.0.{number}")))
        os.utime(made[-1], (number, number))
    left = {file for file in folder.iterdir() if file.suffix == ".jsa"}
    assert left == set(made[-3:])


@pytest.mark.parametrize(
    "java", ['java version "1.8.0_392"', 'openjdk version "17.0.1"\nEclipse OpenJ9 VM', "nonsense"]
)
def test_a_java_without_it_starts_as_it_always_did(folder: Path, jar: Path, java: str) -> None:
    assert archive_options(folder, java, [jar], may_make=True) == []


def test_what_cannot_be_had_is_done_without(folder: Path, jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert archive_options(folder / "never there", JAVA, [jar], may_make=True) == []
    assert archive_options(folder, JAVA, [jar.with_name("gone.jar")], may_make=True) == []
    monkeypatch.setattr(class_archive, "_MOST_LEFT", 1 << 62)  # a disk that is nearly full
    assert archive_options(folder, JAVA, [jar], may_make=True) == []
