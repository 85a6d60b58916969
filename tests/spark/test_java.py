"""A machine without a Java that runs gets one clear sentence."""

from pathlib import Path

import pytest

from vdr_spark.errors import EnvironmentProblem
from vdr_spark.spark.java import explain_no_jvm, require_java
from vdr_spark.spark_versions import OLDEST_JAVA


def fake_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir()
    java = folder / "bin/java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.mark.parametrize("version", ["1.7.0_80", "1.8.0_392", "11.0.2"])
def test_old_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java(tmp_path, version)))
    if OLDEST_JAVA == 8 and version != "1.7.0_80":  # of Spark 3.5
        require_java()
        return
    with pytest.raises(EnvironmentProblem, match=rf"needs Java {OLDEST_JAVA} or newer, but .* is version (7|8|11)"):
        require_java()


def test_java_that_is_no_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake_java(tmp_path, "17") / "bin/java").write_text("not a program")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="no Java that runs"):
        require_java()


def test_no_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="no `java` on the PATH"):
        require_java()


def test_java_home_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EnvironmentProblem, match="has no bin/java"):
        require_java()


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (":: UNRESOLVED DEPENDENCIES ::", "could not be fetched from Maven"),
        ("::              FAILED DOWNLOADS            ::", "could not be fetched from Maven"),
        ("Killed", "did not start"),
    ],
)
def test_why_no_jvm(tmp_path: Path, log: str, words: str) -> None:
    path = tmp_path / "spark.log"
    path.write_text(log)
    assert words in explain_no_jvm(path)
